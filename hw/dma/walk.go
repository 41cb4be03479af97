package dma

import (
	"encoding/binary"

	"github.com/x448/float16"

	"anesim/hw/regs"
)

// A View gives access to the rows of one depth plane of one group of an fp16 tensor in device
// memory.
type View struct {
	b                []byte
	base             int // offset of the group and plane
	row, plane, step int // bytes to the next row, channel and element
	interleave       int // channels interleaved at each element, at least one
	columns          int // columns interleaved at each channel, at least one: of a transposed tensor
}

// View returns a view of depth plane d of group g of the tensor at addr, whose layout is s. It
// returns an *[AccessError] if the tensor is not inside one segment.
func (m *Memory) View(addr uint64, s *regs.Surface, g, d int) (View, error) {
	low, high := s.Extent()
	b, err := m.Bytes(addr+uint64(low), uint64(high-low))
	if err != nil {
		return View{}, err
	}
	v := View{b, g*int(s.Group) + d*int(s.DepthStride) - int(low), int(s.Row), int(s.Plane), elementBytes, 1, 1}
	switch {
	case s.Transposed:
		v.columns = max(1, s.Interleave)
		v.plane, v.step = v.step*v.columns, v.plane
	case s.Interleave > 1:
		v.interleave = s.Interleave
		v.step *= s.Interleave
	}
	return v, nil
}

const elementBytes = 2

// elementOffset returns the offset in v.b of column x of row y of channel c.
func (v View) elementOffset(c, y, x int) int {
	return v.base + c/v.interleave*v.plane + c%v.interleave*elementBytes + y*v.row + x/v.columns*v.step + x%v.columns*elementBytes
}

// Row copies the first len(dst) elements of row y of channel c to dst.
func (v View) Row(dst []float16.Float16, c, y int) {
	if len(dst) == 0 {
		return
	}
	at := v.elementOffset(c, y, 0)
	if v.columns > 1 {
		for x := range dst {
			dst[x] = float16.Float16(binary.LittleEndian.Uint16(v.b[v.elementOffset(c, y, x):]))
		}
		return
	}
	if v.step != elementBytes {
		for x := range dst {
			dst[x] = float16.Float16(binary.LittleEndian.Uint16(v.b[at+x*v.step:]))
		}
		return
	}
	b := v.b[at : at+2*len(dst)]
	for len(dst) >= 4 {
		w := binary.LittleEndian.Uint64(b)
		d := (*[4]float16.Float16)(dst)
		d[0], d[1], d[2], d[3] = float16.Float16(w), float16.Float16(w>>16), float16.Float16(w>>32), float16.Float16(w>>48)
		dst, b = dst[4:], b[8:]
	}
	for x := range dst {
		dst[x] = float16.Float16(binary.LittleEndian.Uint16(b[2*x:]))
	}
}

// SetRow copies src to row y of channel c, starting at element x of the row.
func (v View) SetRow(src []float16.Float16, c, y, x int) {
	if len(src) == 0 {
		return
	}
	at := v.elementOffset(c, y, x)
	if v.columns > 1 {
		for i, h := range src {
			binary.LittleEndian.PutUint16(v.b[v.elementOffset(c, y, x+i):], uint16(h))
		}
		return
	}
	if v.step != elementBytes {
		for i, h := range src {
			binary.LittleEndian.PutUint16(v.b[at+i*v.step:], uint16(h))
		}
		return
	}
	b := v.b[at : at+2*len(src)]
	for len(src) >= 4 {
		s := (*[4]float16.Float16)(src)
		binary.LittleEndian.PutUint64(b, uint64(s[0])|uint64(s[1])<<16|uint64(s[2])<<32|uint64(s[3])<<48)
		src, b = src[4:], b[8:]
	}
	for x, h := range src {
		binary.LittleEndian.PutUint16(b[2*x:], uint16(h))
	}
}

// A Lane is a stream of weights that one MAC engine reads from device memory.
type Lane struct {
	Addr uint64 // device address
	Size uint32 // bytes
	On   bool
}

// Lanes returns the weight streams of a task with registers g, one per MAC engine. The argument
// kernel is the device address to which the offsets of the streams are relative.
func Lanes(g *regs.Groups, kernel uint64) (lanes [16]Lane) {
	k := &g.KernelDMASrc
	for i := range lanes {
		lanes[i] = Lane{
			Addr: kernel + uint64(k.CoeffBaseAddr[i].Bytes()),
			Size: k.CoeffBfrSize[i].Bytes(),
			On:   k.CoeffDMAConfig[i].En(),
		}
	}
	return lanes
}
