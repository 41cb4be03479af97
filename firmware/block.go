package firmware

// A Block is a named range of register addresses. Each record of an [InitTable] writes a register
// in one block.
type Block struct {
	Name    string
	Base    uint64 // byte address of offset 0
	End     uint64 // first byte address past the block
	Records int    // number of records in the M1 image
}

// Blocks returns the ten blocks of the M1's init table in the order in which they are
// applied. Names and base addresses were read from the vendor's code. The sizes are
// assumed: each block ends where the next one begins, and the last one is 4 MiB long.
func Blocks() [10]Block {
	return [10]Block{
		{"ASC_CHINOOK", 0x2_6b00_0000, 0x2_6b40_0000, 24},
		{"ASCWRAP", 0x2_6b40_0000, 0x2_6b84_0000, 2},
		{"sneCtrl", 0x2_6b84_0000, 0x2_6b8e_c000, 15},
		{"ANE", baseANE, 0x2_6c00_0000, 47},
		{"aneDpePpt", 0x2_6b8e_c000, 0x2_6b8e_d000, 304},
		{"aneDpePptAccp0", 0x2_6b8e_d000, 0x2_6b8e_e000, 528},
		{"aneDpePptAccp1", 0x2_6b8e_e000, 0x2_6b8e_f000, 528},
		{"aneDpePptAccp2", 0x2_6b8e_f000, 0x2_6b8f_0000, 528},
		{"aneDpeSys", 0x2_6b8f_0000, 0x2_6b8f_4000, 9},
		{"aneDpePpt_soc_dpe_lee", 0x2_6b8f_4000, baseANE, 9},
	}
}

const baseANE = 0x2_6bc0_0000

// blockNamed returns the block with the given name, and whether there is one.
func blockNamed(name string) (Block, bool) {
	for _, b := range Blocks() {
		if b.Name == name {
			return b, true
		}
	}
	return Block{}, false
}
