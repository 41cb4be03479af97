package lint

import (
	"anesim/hw/regs"
	"anesim/loader"
)

// checkRelocations compares the relocations of a container with the addresses of weights that its
// descriptors load. A loader that places the constants elsewhere moves exactly the words that have a
// relocation.
func (s *state) checkRelocations(d *regs.Descriptor, g *regs.Groups, relocated map[uint32]int) {
	const name = "KernelDMASrc.CoeffBaseAddr"
	register, _ := regs.Lookup("KernelDMASrc", "CoeffBaseAddr[0]")
	bases := d.Header.KernelBases
	ofConstants := bases.KBE0() && int(bases.KBase0()) == s.program.WeightsBAR()
	without, first := 0, 0
	for lane, c := range g.KernelDMASrc.CoeffDMAConfig {
		words := s.program.WordsOf(d, register.Addr()+4*uint32(lane))
		if len(words) == 0 {
			continue
		}
		last := words[len(words)-1] // the one that counts
		if c.En() && g.KernelDMASrc.CoeffBfrSize[lane].Bytes() > 0 && ofConstants {
			if relocated[last] == 0 {
				if without++; without == 1 {
					first = lane
				}
			}
			delete(relocated, last)
		}
	}
	if without > 0 {
		s.addFinding(int32(d.Index), name, Relocation, byRelocations, "weight addresses without a relocation: %d, the first of lane %d; they stay where they are if the constants move", without, first)
	}
}

// checkOtherRelocations adds a finding for each descriptor with relocations of words that are not
// addresses of weights.
func (s *state) checkOtherRelocations(relocated map[uint32]int) {
	count, example := map[int]int{}, map[int]string{}
	for i := range s.program.Relocations {
		r := &s.program.Relocations[i]
		if r.Kind != loader.SectionRelative || relocated[r.Off] == 0 {
			continue
		}
		if count[r.Task]++; count[r.Task] == 1 {
			example[r.Task] = r.Field()
		}
	}
	for task := range s.linked.Count {
		if n := count[task]; n > 0 {
			s.addFinding(int32(task), example[task], Relocation, byRelocations, "relocations of words that are no weight addresses in use: %d, the first of %s", n, example[task])
		}
	}
}

// countRelocations returns how many relocations each word of a container has, by its offset. It returns
// nil for a program of another form, which has none.
func countRelocations(p *loader.Program) map[uint32]int {
	if p.Container == nil {
		return nil
	}
	list := map[uint32]int{}
	for i := range p.Relocations {
		if r := &p.Relocations[i]; r.Kind == loader.SectionRelative {
			list[r.Off]++
		}
	}
	return list
}
