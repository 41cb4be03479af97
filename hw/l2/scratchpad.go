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

// A View is one group of a tile in the scratchpad, read and written a row at a time.
type View struct {
	mem                          []byte
	base, row, channel, elements int // bytes to the next row, channel and element
}

// View returns group g of a tile, or a *RangeError.
func (p *Scratchpad) View(l Layout, s regs.Shape, g int) (View, error) {
	if err := p.Check(l, s); err != nil {
		return View{}, err
	}
	v := View{p.mem, int(l.Base) + g*int(l.Group), int(l.Row), int(l.Channel), 2}
	if l.Exchanged {
		v.channel, v.elements = v.elements, v.channel
	}
	return v, nil
}

func (v View) at(c, y, x int) int { return v.base + y*v.row + c*v.channel + x*v.elements }

// Row copies the elements of row y of channel c into dst, from x = 0 on.
func (v View) Row(dst []float16.Float16, c, y int) {
	at := v.at(c, y, 0)
	for x := range dst {
		dst[x] = float16.Float16(binary.LittleEndian.Uint16(v.mem[at+x*v.elements:]))
	}
}

// SetRow writes src to row y of channel c from element x on.
func (v View) SetRow(src []float16.Float16, c, y, x int) {
	at := v.at(c, y, x)
	for i, h := range src {
		binary.LittleEndian.PutUint16(v.mem[at+i*v.elements:], uint16(h))
	}
}
