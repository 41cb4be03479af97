package firmware

// Known returns an incomplete init table: the 66 records whose address, mask and value are
// documented. They include the enable bits of all 32 tiles, and at least one record for each block.
func Known() *InitTable {
	t := new(InitTable)
	add := func(block string, offset, mask, value uint32, evidence, source string) {
		t.Records = append(t.Records, InitRecord{block, offset, mask, value, evidence, source})
	}
	const all = 1<<32 - 1

	add("ASC_CHINOOK", 0x14_0020, 0xf8_0000, 0x78_0000, "decompiled", "table C.14: clock divider field, 15")
	add("ASCWRAP", 0x80c, 0x6000_0001, 0x6000_0001, "decompiled", "table C.14: fabric clock and QoS enable")
	for i := range uint32(8) {
		add("sneCtrl", 0x28+4*i, 0x8fff_c000, 0x8fff_c000, "decompiled", "table C.14: QoS and credit word of a set")
	}
	for tile := range Tiles {
		evidence, source := "assumed", "table C.14: tile clock and power enable; its address is between two decompiled ones"
		if tile == 0 || tile == Tiles-1 {
			evidence, source = "decompiled", "table C.14: tile clock and power enable"
		}
		add("ANE", tileEnableOffset(tile), 1, 1, evidence, source)
	}
	add("ANE", 0x1_400c, 0xffff_ff00, 0x4010_1000, "decompiled", "table C.14: DMA descriptor base and configuration")
	add("aneDpePpt", 0, 0xffff, 0x267e, "decompiled", "table C.14: peak-power base budget")
	add("aneDpePpt", 0x42c, 0x3fff, 0, "decompiled", "table C.14: trailing control, armed to 0x3fff when power tracking starts")
	// The documents also give two of these words in decimal, 7811476 and 207820, with other
	// values. The hexadecimal ones are used because 0x773594 is 10^9/128.
	for _, block := range [...]string{"aneDpePptAccp0", "aneDpePptAccp1", "aneDpePptAccp2"} {
		add(block, 0, all, 0x77_3594, "decompiled", "table C.14: energy scale of a counter")
	}
	add("aneDpeSys", 0x14, all, 0x23e1, "decompiled", "table C.14: period")
	for i, v := range [...]uint32{25, 50, 70, 85, 95, 105, 115} {
		add("aneDpeSys", 0x18+4*uint32(i), 0x1ff, v, "decompiled", "section C.4: sampling threshold")
	}
	add("aneDpeSys", 0x38, all, 0x3_2dcc, "decompiled", "table C.14: accumulation window")
	add("aneDpePpt_soc_dpe_lee", 0, 0x1e, 0xc, "decompiled", "table C.14: control field")
	// The documents give no offsets of these eight. The tunables of m1n1, Linux's loader, for this chip
	// set words 0x24 to 0x1a0 of the block to other values, so that only 0x04 to 0x20 has room.
	for i, v := range [...]uint32{10, 22, 39, 64, 89, 121, 164, 189} {
		add("aneDpePpt_soc_dpe_lee", 4+4*uint32(i), 0x1ff, v, "assumed", "section C.4: leakage threshold; its offset is where other tables leave room, its mask as in aneDpeSys")
	}
	return t
}
