package paper

import (
	"fmt"

	"anesim/hw/regs"
	"anesim/loader/enums"
)

// registers reads the register table.
func (p *paper) registers() error {
	const area, how = "registers", "anesim dump; hw/regs/fields.txt"
	for _, f := range []struct {
		block, register, field string
		width, low             int // low is -1 where the documents say nothing
	}{
		{"Common", "InDim", "Win", 15, -1}, {"Common", "InDim", "Hin", 15, -1},
		{"Common", "Cin", "Cin", 17, -1}, {"Common", "Cout", "Cout", 17, -1},
		{"Common", "ConvCfg", "OCGSize", 3, -1}, {"Common", "GroupConvCfg", "NumGroups", 13, -1},
		{"TileDMASrc", "Src1RowStride", "Value", 26, 6}, {"L2", "Src1Base", "Value", 17, 4},
	} {
		r, ok := regs.Lookup(f.block, f.register)
		if !ok {
			return fmt.Errorf("paper: no register %s.%s", f.block, f.register)
		}
		x, ok := r.Field(f.field)
		if !ok {
			return fmt.Errorf("paper: no field %s.%s.%s", f.block, f.register, f.field)
		}
		p.given(area, fmt.Sprintf("bits of %s.%s.%s", f.block, f.register, f.field), "", uint64(f.width), uint64(x.Width), how, "")
		if f.low >= 0 {
			p.given(area, fmt.Sprintf("lowest bit of %s.%s", f.block, f.register), "", uint64(f.low), uint64(x.Low), how, "")
		}
	}
	p.given(area, "coefficient streams of the kernel DMA", "", 16, uint64(len(regs.KernelDMASrc{}.CoeffBaseAddr)), how, "")
	p.given(area, "bits of a device address", "", 42, regs.AddressBits, how, "")
	words := [...]uint64{34, 19, 69, 30, 14, 11, 21}
	bases := [...]uint64{0x2c, 0xfc, 0x150, 0x26c, 0x2ec, 0x32c, 0x360}
	for i, w := range regs.V10Windows() {
		p.given(area, "words of "+w.Group+", "+w.Block, "", words[i], uint64(w.Words), how, "")
		p.given(area, "image offset of "+w.Group, "hex", bases[i], uint64(w.Image), how, "the reference tables have all seven 8 lower, and they hold")
	}
	for i, want := range [...]uint64{0x1344, 0x134a, 0x1442, 0x1554, 0x1558, 0x155c, 0x1560} {
		r := regs.V10Relocations()[i]
		p.given(area, "relocation slot: "+r.Name, "hex", want, uint64(r.Word), how, "11 slots elsewhere, without numbers")
	}
	var image regs.V10
	for _, w := range regs.V10Windows() {
		for i := range w.Words {
			if err := image.Store(w.Base+4*uint32(i), 0); err != nil {
				return err
			}
		}
	}
	offset := map[string]uint64{}
	for _, w := range image.Words() {
		if w.Window.Group != "G1" {
			continue
		}
		for _, f := range w.Reg.Fields {
			offset[f.Name] = uint64(w.Addr-w.Window.Base) + uint64(f.Low/8)
		}
	}
	for _, f := range []struct {
		name    string
		want    uint64
		against string
	}{
		{"Win", 0, ""}, {"Hin", 2, ""}, {"Cin", 0xc, ""}, {"Cout", 0x10, ""}, {"NumGroups", 0x28, ""}, {"TaskType", 0x38, ""},
		{"InFmt", 0x10, "Cout stands there; the bytes have it at 0x8"},
	} {
		if got, ok := offset[f.name]; ok {
			p.given(area, "place of "+f.name+" in G1", "hex", f.want, got, how, f.against)
		}
	}
	return nil
}

// enumerations counts the vendor's names.
func (p *paper) enumerations() error {
	const area, how = "enumerations", "anesim enum"
	have := map[string]uint64{}
	for e := range enums.All() {
		numbers := map[uint64]bool{}
		for _, v := range e.Values {
			numbers[v.Number] = true
		}
		have[e.Name] = uint64(len(numbers))
	}
	for _, e := range []struct {
		name    string
		want    uint64
		against string
	}{
		{"NeuronToken", 33, "the table has 30: 8, 24 and 30 are absent"},
		{"SerialType", 11, ""}, {"RoundingMode", 5, ""}, {"PoolingType", 14, ""}, {"ReductionType", 11, ""},
		{"ElementwiseType", 21, ""}, {"ScaledElementwiseType", 5, ""}, {"PaddingMode", 7, ""}, {"UnitType", 79, ""},
		{"NonLinearMode", 48, ""}, {"MicroOp", 126, ""}, {"OpType", 12, ""}, {"TensorDataType", 11, ""},
		{"ReturnCode", 12, ""}, {"CatalogueType", 24, "eight are named"},
	} {
		got, ok := have[e.name]
		if !ok {
			return fmt.Errorf("paper: no enumeration %s", e.name)
		}
		p.given(area, "values of "+e.name, "", e.want, got, how, e.against)
	}
	return nil
}
