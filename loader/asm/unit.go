package asm

import (
	"anesim/hw/regs"
	"anesim/loader"
)

// A Unit is an assembled text.
type Unit struct {
	Chain     []*regs.Descriptor
	Text      []byte // the chain's bytes, __text
	Ports     []loader.Port
	Constants []byte // nil where the text gives none
	Scratch   uint64 // bytes
	Procedure string
	Params    []Param

	file    []byte // of a container that was taken apart, nil otherwise
	textOff uint64 // of Text in it
}

// A Param is a run-time parameter of the text, with the value it was assembled for.
type Param struct {
	Name  string
	Value uint64
	Range loader.Range
}

// FirstWords is the first descriptor's size in words.
func (u *Unit) FirstWords() int { return u.Chain[0].Words }

// File is the program as a file: a container when the text has ports or was one, else
// the bare chain.
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
