package regs

// A Tile describes where the elements of a tensor are in L2. Element (g, d, c, y, x) is at Base +
// g*Group + d*Depth + c*Channel + y*Row + 2x. In a transposed tile, c and x are swapped. Strides
// are in bytes.
type Tile struct {
	Base, Channel, Row, Depth, Group uint32

	Transposed bool
	Element    int // bytes per element, 0 for fp16
}

// Span returns the L2 address after the last element of a tensor with shape s.
func (t *Tile) Span(s Shape) uint64 {
	if s.Elements() <= 0 {
		return uint64(t.Base)
	}
	outer, inner := s.Channels, s.Width
	if t.Transposed {
		outer, inner = inner, outer
	}
	return uint64(t.Base) + uint64(s.Groups-1)*uint64(t.Group) + uint64(s.Planes()-1)*uint64(t.Depth) +
		uint64(s.Height-1)*uint64(t.Row) + uint64(outer-1)*uint64(t.Channel) + uint64(elementBytesOrFP16(t.Element))*uint64(inner)
}
