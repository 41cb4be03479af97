package paper

import (
	"anesim/hw/regs"
	"anesim/internal/enums"
)

// compareRegisters compares two tables of registers in the documents. The model contains the second
// one.
func (p *paper) compareRegisters() error {
	const area, how = "registers", "anesim dump; hw/regs/fields.txt"
	bases := [...]uint64{0x2c, 0xfc, 0x150, 0x26c, 0x2ec, 0x32c, 0x360}
	for i, w := range regs.V10Windows() {
		p.addTableClaim(area, "image offset of "+w.Group, "hex", bases[i], uint64(w.Image), how, "the reference tables have all seven 8 lower, and they hold")
	}
	var image regs.V10
	for _, w := range regs.V10Windows() {
		for i := range w.Words {
			if err := image.Store(w.Base+4*uint32(i), 0); err != nil {
				return err
			}
		}
	}
	for _, w := range image.Words() {
		for _, f := range w.Reg.Fields {
			if w.Window.Group == "G1" && f.Name == "InFmt" {
				at := uint64(w.Addr-w.Window.Base) + uint64(f.Low/8)
				p.addTableClaim(area, "place of InFmt in G1", "hex", 0x10, at, how, "Cout stands there; the bytes have it at 0x8")
			}
		}
	}
	return nil
}

// compareEnumerations compares the number of names in each enumeration whose size the documents
// contradict.
func (p *paper) compareEnumerations() error {
	const area, how = "enumerations", "anesim enum"
	for _, e := range []struct {
		name    string
		want    uint64
		against string
	}{
		{"NeuronToken", 33, "the table has 30: 8, 24 and 30 are absent"},
		{"CatalogueType", 24, "eight are named"},
	} {
		numbers := map[uint64]bool{}
		for x := range enums.All() {
			for _, v := range x.Values {
				if x.Name == e.name {
					numbers[v.Number] = true
				}
			}
		}
		p.addTableClaim(area, "values of "+e.name, "", e.want, uint64(len(numbers)), how, e.against)
	}
	return nil
}
