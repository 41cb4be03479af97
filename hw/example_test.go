package hw_test

import (
	"fmt"
	"log"

	"anesim/hw"
	"anesim/hw/dma"
	"anesim/hw/regs"
	"anesim/loader/lower"
)

// The device runs the tasks of a linked program one by one; here it only times them.
func ExampleDevice() {
	p, err := lower.ExampleProgram("concat")
	if err != nil {
		log.Fatal(err)
	}
	l, err := p.Link()
	if err != nil {
		log.Fatal(err)
	}
	var segments []dma.Segment
	for _, s := range l.Map {
		segments = append(segments, dma.Segment{Name: s.String(), Addr: s.Addr, Size: s.Size, Data: s.Data})
	}
	mem, err := dma.NewMemory(segments)
	if err != nil {
		log.Fatal(err)
	}
	dev := hw.New(mem, hw.Options{Chip: hw.M1()})
	for t, err := range l.Stream.Tasks(new(regs.File)) {
		if err != nil {
			log.Fatal(err)
		}
		if dev.Execute(t) {
			break
		}
	}
	r := dev.Report()
	a := r.Accounting()
	fmt.Println(len(r.Descriptors), "descriptors,", len(r.Faults), "faults")
	fmt.Println("causes sum to the cycles:", a.Total() == r.Cycles)
	fmt.Println(r.Descriptors[0].Op, r.Descriptors[0].DMA.Total(), "bytes")
	// Output:
	// 2 descriptors, 0 faults
	// causes sum to the cycles: true
	// copy 1024 bytes
}

// Each constant of a chip has its evidence.
func ExampleChip_Constants() {
	for name, c := range hw.M1().Constants() {
		if name == "Clock" || name == "TotalRate" {
			fmt.Println(name, c.Value, c.Unit, c.Evidence)
		}
	}
	// Output:
	// Clock 1.464e+09 Hz measured
	// TotalRate 6.8e+10 B/s measured
}
