package dma

import "anesim/hw/regs"

// A ByteView is a view of one plane of one group of a surface of 8-bit elements. The elements of a
// row are contiguous (from the bytes of the only program with such elements).
type ByteView struct {
	b          []byte
	base       int
	row, plane int
	width      int
}

// ByteView returns depth d of group g of the surface of 8-bit elements at addr. It is like View,
// but the surface must be neither transposed nor interleaved.
func (m *Memory) ByteView(addr uint64, s *regs.Surface, g, d int) (ByteView, error) {
	low, high := s.Extent()
	b, err := m.Bytes(addr+uint64(low), uint64(high-low))
	if err != nil {
		return ByteView{}, err
	}
	return ByteView{b, g*int(s.Group) + d*int(s.DepthStride) - int(low), int(s.Row), int(s.Plane), s.Width}, nil
}

// Row returns row y of channel c. Writing to the slice changes the memory.
func (v ByteView) Row(c, y int) []byte {
	at := v.base + c*v.plane + y*v.row
	return v.b[at : at+v.width : at+v.width]
}
