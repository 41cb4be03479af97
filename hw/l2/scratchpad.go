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

// A Scratchpad is the memory itself. It takes memory of the machine that runs the model
// only as far as tiles were reserved.
type Scratchpad struct {
	mem  []byte
	size uint64
}

// New returns a scratchpad of size bytes, all zero.
func New(size int) *Scratchpad { return &Scratchpad{size: uint64(size)} }

// Reserve makes room up to end, or reports a *RangeError. Views from before a Reserve
// that had to grow the memory no longer see it.
func (p *Scratchpad) Reserve(end uint64) error {
	if end > p.size {
		return &RangeError{end, p.size}
	}
	if end > uint64(len(p.mem)) {
		grown := make([]byte, min(p.size, max(end, 2*uint64(len(p.mem)))))
		copy(grown, p.mem)
		p.mem = grown
	}
	return nil
}

// A View is one depth of a group of a tile in the scratchpad, read and written a row at a time.
type View struct {
	mem                          []byte
	base, row, channel, elements int // bytes to the next row, channel and element
}

// View returns depth d of group g of a tile, or a *RangeError. It reserves the tile;
// reserve all tiles that are viewed at once beforehand.
func (p *Scratchpad) View(l regs.Tile, s regs.Shape, g, d int) (View, error) {
	if err := p.Reserve(l.Span(s)); err != nil {
		return View{}, err
	}
	v := View{p.mem, int(l.Base) + g*int(l.Group) + d*int(l.Depth), int(l.Row), int(l.Channel), 2}
	if l.Transposed {
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

// Spoil fills what tiles were reserved with NaNs: another program has used the scratchpad,
// and what was live in it is gone.
func (p *Scratchpad) Spoil() {
	for i := range p.mem {
		p.mem[i] = 0xff
	}
}
