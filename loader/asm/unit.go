package asm

import (
	"anesim/hw/regs"
	"anesim/loader"
)

// A Unit is the result of assembling a text.
type Unit struct {
	Chain     []*regs.Descriptor
	Text      []byte // the chain's bytes, __text
	Ports     []loader.Port
	Constants []byte // nil if the text has none
	Scratch   uint64 // bytes
	Procedure string
	Params    []Param

	file    []byte // of a container that was taken apart, nil otherwise
	textOff uint64 // of Text in it
}

// A Param is a run-time parameter of the text, with the value used for assembling.
type Param struct {
	Name  string
	Value uint64
	Range loader.Range
}

// FirstWords returns the size of the first descriptor in words.
func (u *Unit) FirstWords() int { return u.Chain[0].Words }

// File returns the program as a file. It is a container if the text has ports or describes
// a container, otherwise the bare chain.
func (u *Unit) File() ([]byte, error) {
	switch {
	case u.file != nil:
		copy(u.file[u.textOff:], u.Text)
		return u.file, nil
	case len(u.Ports) == 0:
		return u.Text, nil
	}
	b := loader.Builder{
		Procedure: u.Procedure, Chain: u.Chain, Constants: u.Constants, Ports: u.Ports, Scratch: u.Scratch,
	}
	c, err := b.Container()
	if err != nil {
		return nil, err
	}
	return c.Bytes(), nil
}
