package loader

import (
	"fmt"
	"io"

	"anesim/hw/regs"
)

// Bytes is the container as a file. A container that was read gives the bytes it was
// read from: the fields are written over each command's own bytes, and what no command
// owns is carried along.
func (c *Container) Bytes() []byte {
	out := make([]byte, c.Size)
	for _, g := range c.gaps {
		copy(out[g.off:], g.data)
	}
	at := headerSize
	for _, l := range c.Loads {
		dst := out[at : at+len(l.Raw())]
		copy(dst, l.Raw())
		l.store(dst)
		at += len(dst)
		switch l := l.(type) {
		case *SegmentLoad:
			put(out, l.Offset, l.Data)
			for _, s := range l.Sections {
				put(out, uint64(s.Offset), s.Data)
				for i, r := range s.Relocs {
					le.PutUint32(out[int(s.RelocOffset)+relocSize*i:], r.Off)
					le.PutUint32(out[int(s.RelocOffset)+relocSize*i+4:], r.Info)
				}
			}
		case *SymtabLoad:
			for i := range l.Symbols {
				l.Symbols[i].store(out[int(l.Offset)+symbolSize*i:])
			}
			put(out, uint64(l.StringOffset), l.Strings)
		}
	}
	for i, v := range [...]uint32{
		MagicContainer, c.CPUType, uint32(c.Subtype), c.FileType,
		uint32(len(c.Loads)), uint32(at - headerSize), c.Flags, c.Reserved,
	} {
		le.PutUint32(out[4*i:], v)
	}
	return out
}

// put writes data at an offset that means nothing when there is none: a window's.
func put(out []byte, off uint64, data []byte) {
	if len(data) > 0 {
		copy(out[off:], data)
	}
}

// Bytes is the program in the form it came in. Segment data may have been changed in
// place; that of a container is part of its bytes.
func (p *Program) Bytes() []byte {
	switch p.Form {
	case FormContainer:
		return p.Container.Bytes()
	case FormRegisters:
		return captureText(p.Registers)
	case FormANEC, FormFirmware:
		return append([]byte(nil), p.file...)
	}
	return append([]byte(nil), p.Text...)
}

// WriteTo writes Bytes.
func (p *Program) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(p.Bytes())
	return int64(n), err
}

// captureText spells captured registers as the text form reads them.
func captureText(v *regs.V10) []byte {
	var out []byte
	for _, w := range v.Words() {
		out = fmt.Appendf(out, "%#05x %#010x # %s\n", w.Addr, w.Value, w.Name())
	}
	return out
}
