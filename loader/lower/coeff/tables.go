package coeff

// TableBytes is the size of an activation table.
const TableBytes = 128

// tableSection is what a table of so many lanes has for constants: room for one each, and
// the table ahead of zeros (all section hashes and sizes on record: 128 bytes for one
// channel, 640 - 128 for four, 1536 for twelve, 2048 from sixteen on).
func tableSection(table []byte, lanes int) []byte {
	section := make([]byte, TableBytes*lanes)
	copy(section, table)
	return section
}

// PlaceTable returns where a table for so many lanes is in the section, and appends it if it
// is not there yet.
func (s *Section) PlaceTable(table []byte, lanes int) int {
	section := tableSection(table, lanes)
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
