package asm

import (
	"bytes"
	"fmt"

	"anesim/hw/regs"
	"anesim/loader"
)

// A Unit is a program assembled from a descriptor text.
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

// A Param is a run-time parameter that a descriptor text declares. Value is its value in the
// assembled program.
type Param struct {
	Name  string
	Value uint64
	Range loader.Range
}

// FirstWords returns the size of the first descriptor in words. A file that holds only the chain of
// descriptors does not record this size, but readers of the file need it.
func (u *Unit) FirstWords() int { return u.Chain[0].Words }

// RelocationGaps returns how the relocations of the container that the text describes differ from the
// addresses of its weights. It returns nil for text of any other kind, whose relocations File makes, and
// for a container that File refuses.
func (u *Unit) RelocationGaps() loader.RelocationGaps {
	if u.file == nil {
		return nil
	}
	file, err := u.File()
	if err != nil {
		return nil
	}
	p, err := loader.Read("container", bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return nil
	}
	gaps, err := p.RelocationGaps()
	if err != nil {
		return nil
	}
	return gaps
}

// File returns the program as the contents of a file. If the text declares ports or describes a
// container, the file is a hardware container. Otherwise it holds only the chain of descriptors.
// File returns an error if a container cannot hold the program, or a *[ContainerError] if the text
// describes one that cannot be read back.
func (u *Unit) File() ([]byte, error) {
	switch {
	case u.file != nil:
		copy(u.file[u.textOff:], u.Text)
		p, err := loader.Read("container", bytes.NewReader(u.file), int64(len(u.file)))
		if err == nil && p.TaskCount != 0 && p.TaskCount != len(u.Chain) {
			// Reading finds descriptors that were added or dropped only when it walks the chain.
			err = fmt.Errorf("text has %d descriptors, but the header declares %d", len(u.Chain), p.TaskCount)
		}
		if err != nil {
			return nil, &ContainerError{err}
		}
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
