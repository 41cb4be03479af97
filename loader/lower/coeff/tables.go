package coeff

// TableBytes is the size of an activation table.
const TableBytes = 128

// TableSection is what a table of so many lanes has for constants: room for one each, and
// the table ahead of zeros (all section hashes and sizes on record: 128 bytes for one
// channel, 640 - 128 for four, 1536 for twelve, 2048 from sixteen on).
func TableSection(table []byte, lanes int) []byte {
	section := make([]byte, TableBytes*lanes)
	copy(section, table)
	return section
}
