package dma

import "anesim/hw/regs"

// A ByteView gives access to one depth plane of one group of a tensor with 8-bit elements in device
// memory. The elements of a row are adjacent bytes.
type ByteView struct {
	b          []byte
	base       int
	row, plane int
	width      int
}

// ByteView returns a view of depth plane d of group g of the tensor at addr, whose layout is s. The
// layout must have 8-bit elements and be neither transposed nor interleaved. ByteView returns an
// *AccessError if the plane is not inside one segment.
func (m *Memory) ByteView(addr uint64, s *regs.Surface, g, d int) (ByteView, error) {
	low, high := s.Extent()
	b, err := m.Bytes(addr+uint64(low), uint64(high-low))
	if err != nil {
		return ByteView{}, err
	}
	return ByteView{b, g*int(s.Group) + d*int(s.DepthStride) - int(low), int(s.Row), int(s.Plane), s.Width}, nil
}

// Row returns the elements of row y of channel c. The slice shares memory with the device, so
// writing to it changes the tensor.
func (v ByteView) Row(c, y int) []byte {
	at := v.base + c*v.plane + y*v.row
	return v.b[at : at+v.width : at+v.width]
}
