package lower

// tableBytes is the size of an activation table.
const tableBytes = 128

// tableSection is what a table of so many lanes has for constants: room for one each, and
// the table ahead of zeros (all section hashes and sizes on record: 128 bytes for one
// channel, 640 - 128 for four, 1536 for twelve, 2048 from sixteen on).
func tableSection(table []byte, lanes int) []byte {
	section := make([]byte, tableBytes*lanes)
	copy(section, table)
	return section
}
