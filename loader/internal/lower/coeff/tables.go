package coeff

// TableBytes is the size of an activation table in bytes.
const TableBytes = 128

// padTableForLanes returns the constants for a table that the given number of lanes use: room for
// one table per lane, with the table first and zeros after it. This agrees with all known section
// hashes and sizes: 128 bytes for one lane, 512 for four, 1536 for twelve, and 2048 for sixteen.
func padTableForLanes(table []byte, lanes int) []byte {
	section := make([]byte, TableBytes*lanes)
	copy(section, table)
	return section
}

// PlaceTable returns the offset of an activation table in the section. lanes is the number of
// engines that use the table. If the section does not have the table with this number of lanes yet,
// PlaceTable appends it, padded with zeros to 128 bytes per lane.
func (s *Section) PlaceTable(table []byte, lanes int) int {
	section := padTableForLanes(table, lanes)
	at, ok := s.tables[string(section)]
	if !ok {
		s.Pad(64)
		at = s.Add(section)
		if s.tables == nil {
			s.tables = map[string]int{}
		}
		s.tables[string(section)] = at
	}
	return at
}
