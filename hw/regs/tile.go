package regs

// A Tile places fp16 elements in the L2: element (g, d, c, y, x) stands at Base +
// g*Group + d*Depth + y*Row + c*Channel + 2x, and channel and x change places in a
// transposed one. Strides are bytes.
type Tile struct {
	Base, Channel, Row, Depth, Group uint32

	Transposed bool
	Element    int // bytes of an element, 0 for fp16
}

// Span is the number of bytes from the L2's start to the end of a tile's last element.
func (t *Tile) Span(s Shape) uint64 {
	if s.Elements() <= 0 {
		return uint64(t.Base)
	}
	outer, inner := s.Channels, s.Width
	if t.Transposed {
		outer, inner = inner, outer
	}
	return uint64(t.Base) + uint64(s.Groups-1)*uint64(t.Group) + uint64(s.Planes()-1)*uint64(t.Depth) +
		uint64(s.Height-1)*uint64(t.Row) + uint64(outer-1)*uint64(t.Channel) + uint64(elementBytes(t.Element))*uint64(inner)
}
