package dma

import (
	"encoding/binary"

	"github.com/x448/float16"

	"anesim/hw/regs"
)

// Load copies group g of the surface at addr into dst, channel by channel, row by row:
// dst[(c*Height+y)*Width+x]. The error is an *AccessError and leaves dst unspecified.
func Load(dst []float16.Float16, m *Memory, addr uint64, s regs.Surface, g int) error {
	b, err := m.Bytes(addr, s.Span())
	if err != nil {
		return err
	}
	walk(s, g, func(i, at, n, step int) {
		if step == 2 {
			row := b[at : at+2*n]
			for x := range n {
				dst[i+x] = float16.Float16(binary.LittleEndian.Uint16(row[2*x:]))
			}
			return
		}
		for x := range n {
			dst[i+x] = float16.Float16(binary.LittleEndian.Uint16(b[at+x*step:]))
		}
	})
	return nil
}

// Store copies src, laid out as Load's dst, into group g of the surface at addr.
func Store(src []float16.Float16, m *Memory, addr uint64, s regs.Surface, g int) error {
	b, err := m.Bytes(addr, s.Span())
	if err != nil {
		return err
	}
	walk(s, g, func(i, at, n, step int) {
		if step == 2 {
			row := b[at : at+2*n]
			for x := range n {
				binary.LittleEndian.PutUint16(row[2*x:], uint16(src[i+x]))
			}
			return
		}
		for x := range n {
			binary.LittleEndian.PutUint16(b[at+x*step:], uint16(src[i+x]))
		}
	})
	return nil
}

// walk visits the rows of a group: element index, byte offset, elements, and the bytes
// from one element to the next.
func walk(s regs.Surface, g int, row func(i, at, n, step int)) {
	plane, step := int(s.Plane), 2
	if s.Transposed {
		plane, step = step, plane
	}
	base, i := g*int(s.Group), 0
	for c := range s.Channels {
		for y := range s.Height {
			row(i, base+c*plane+y*int(s.Row), s.Width, step)
			i += s.Width
		}
	}
}

// A Lane is one engine's coefficient stream.
type Lane struct {
	Addr uint64 // device address
	Size uint32 // bytes
	On   bool
}

// Lanes returns the sixteen coefficient lanes with the kernel base added.
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
