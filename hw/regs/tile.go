package regs

// A Tile is the layout of a buffer in the L2: element (g, d, c, y, x) is at Base + g*Group +
// d*Depth + y*Row + c*Channel + 2x. In a transposed tile c and x are swapped. Strides are in bytes.
type Tile struct {
	Base, Channel, Row, Depth, Group uint32

	Transposed bool
	Element    int // bytes per element, 0 for fp16
}

// Span returns the L2 address of the end of the tile's last element.
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
