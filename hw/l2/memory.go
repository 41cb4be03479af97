package l2

import (
	"encoding/binary"
	"fmt"

	"github.com/x448/float16"

	"anesim/hw/regs"
)

// A RangeError reports a buffer that extends past the end of L2.
type RangeError struct {
	End, Size uint64 // bytes
}

func (e *RangeError) Error() string {
	return fmt.Sprintf("buffer ends at L2 address %#x; L2 has %#x bytes", e.End, e.Size)
}

// Memory holds the contents of L2. The host allocates only the part below the highest reserved
// address.
type Memory struct {
	mem  []byte
	size uint64
}

// New returns an L2 memory of size bytes that are all zero.
func New(size int) *Memory { return &Memory{size: uint64(size)} }

// Reserve allocates the addresses below end. It returns a *[RangeError] if end exceeds the size of
// L2. If the allocation grows, existing views become invalid.
func (p *Memory) Reserve(end uint64) error {
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

// A View gives access to the rows of one depth plane of one group of an fp16 tensor in L2.
type View struct {
	mem                          []byte
	base, row, channel, elements int // bytes to the next row, channel and element
}

// View returns a view of depth plane d of group g of a tensor with layout l and shape s, and
// reserves its memory. It returns a *[RangeError] if the tensor extends past the end of L2. A
// caller that needs several views at once must reserve the memory of all tensors first.
func (p *Memory) View(l regs.Tile, s regs.Shape, g, d int) (View, error) {
	if err := p.Reserve(l.Span(s)); err != nil {
		return View{}, err
	}
	v := View{p.mem, int(l.Base) + g*int(l.Group) + d*int(l.Depth), int(l.Row), int(l.Channel), 2}
	if l.Transposed {
		v.channel, v.elements = v.elements, v.channel
	}
	return v, nil
}

// elementOffset returns the offset in v.mem of column x of row y of channel c.
func (v View) elementOffset(c, y, x int) int { return v.base + y*v.row + c*v.channel + x*v.elements }

// Row copies the first len(dst) elements of row y of channel c to dst.
func (v View) Row(dst []float16.Float16, c, y int) {
	at := v.elementOffset(c, y, 0)
	for x := range dst {
		dst[x] = float16.Float16(binary.LittleEndian.Uint16(v.mem[at+x*v.elements:]))
	}
}

// SetRow copies src to row y of channel c, starting at element x of the row.
func (v View) SetRow(src []float16.Float16, c, y, x int) {
	at := v.elementOffset(c, y, x)
	for i, h := range src {
		binary.LittleEndian.PutUint16(v.mem[at+i*v.elements:], uint16(h))
	}
}

// Spoil overwrites the reserved part of L2 with NaNs, as if another program had used L2.
func (p *Memory) Spoil() {
	for i := range p.mem {
		p.mem[i] = 0xff
	}
}
