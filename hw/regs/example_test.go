package regs_test

import (
	"fmt"
	"log"

	"anesim/hw/regs"
)

// A group's words have their fields by name; bits that no field names survive.
func ExampleConvCfg() {
	w := regs.ConvCfg{}.WithKw(3).WithKh(3).WithSx(1).WithSy(1).WithPx(1).WithPy(1)
	fmt.Printf("%dx%d taps, padding %d: %v\n", w.Kh(), w.Kw(), w.Py(), w)
	// Output: 3x3 taps, padding 1: 0x42a063
}

// The register file takes masked writes by byte address.
func ExampleFile() {
	var f regs.File
	for r := range regs.Registers() {
		if r.Block+"."+r.Name != "Common.InDim" {
			continue
		}
		if err := f.MaskedWrite(r.Addr(), 0xffff, 28); err != nil {
			log.Fatal(err)
		}
		word, _ := f.Load(r.Addr())
		for _, field := range r.Fields {
			fmt.Println(field.Name, field.Of(word))
		}
	}
	// Output:
	// Win 28
	// Hin 0
}
