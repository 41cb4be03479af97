package l2

import (
	"encoding/binary"
	"fmt"

	"github.com/x448/float16"

	"anesim/hw/regs"
)

// A RangeError is a tile that does not fit the scratchpad.
type RangeError struct {
	End, Size uint64 // bytes
}

func (e *RangeError) Error() string {
	return fmt.Sprintf("tile ends at L2 address %#x, the scratchpad has %#x bytes", e.End, e.Size)
}

// A Scratchpad is the memory itself.
type Scratchpad struct {
	mem []byte
}

// New returns a scratchpad of size bytes, all zero.
func New(size int) *Scratchpad { return &Scratchpad{make([]byte, size)} }

// Check reports a tile that leaves the scratchpad as a *RangeError.
func (p *Scratchpad) Check(l Layout, s regs.Shape) error {
	if end := l.Span(s); end > uint64(len(p.mem)) {
		return &RangeError{end, uint64(len(p.mem))}
	}
	return nil
}

// Read copies group g of a tile into dst, channel by channel, row by row:
// dst[(c*Height+y)*Width+x]. The tile must have passed Check.
func (p *Scratchpad) Read(dst []float16.Float16, l Layout, s regs.Shape, g int) {
	p.each(l, s, g, func(i, at int) {
		dst[i] = float16.Float16(binary.LittleEndian.Uint16(p.mem[at:]))
	})
}

// Write copies src, laid out as Read's dst, into group g of a tile.
func (p *Scratchpad) Write(src []float16.Float16, l Layout, s regs.Shape, g int) {
	p.each(l, s, g, func(i, at int) {
		binary.LittleEndian.PutUint16(p.mem[at:], uint16(src[i]))
	})
}

func (p *Scratchpad) each(l Layout, s regs.Shape, g int, visit func(i, at int)) {
	channel, x := int(l.Channel), 2
	if l.Exchanged {
		channel, x = x, channel
	}
	base, i := int(l.Base)+g*int(l.Group), 0
	for c := range s.Channels {
		for y := range s.Height {
			at := base + y*int(l.Row) + c*channel
			for range s.Width {
				visit(i, at)
				i++
				at += x
			}
		}
	}
}
