package dma

import "anesim/hw/regs"

// A ByteView is one depth of a group of a surface of 8-bit elements, which stand one behind
// the other in a row (bytes: the one program of such elements).
type ByteView struct {
	b          []byte
	base       int
	row, plane int
	width      int
}

// ByteView is View of a surface of 8-bit elements that is neither transposed nor
// interleaved.
func (m *Memory) ByteView(addr uint64, s *regs.Surface, g, d int) (ByteView, error) {
	low, high := s.Extent()
	b, err := m.Bytes(addr+uint64(low), uint64(high-low))
	if err != nil {
		return ByteView{}, err
	}
	return ByteView{b, g*int(s.Group) + d*int(s.DepthStride) - int(low), int(s.Row), int(s.Plane), s.Width}, nil
}

// Row is row y of channel c; writing to it writes the memory.
func (v ByteView) Row(c, y int) []byte {
	at := v.base + c*v.plane + y*v.row
	return v.b[at : at+v.width : at+v.width]
}
