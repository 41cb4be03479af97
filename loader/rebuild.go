package loader

import (
	"cmp"
	"fmt"

	"anesim/hw/regs"
)

// Rebuild makes a hardware container of a program that came in another form. Ports keep
// their addresses; the scratch memory, the text and the constants stand where Builder puts
// them. The descriptors do not change. The error is an *UnsupportedError for what a
// container cannot say: weights that are not in the file, scratch behind buffer 2.
func (p *Program) Rebuild() (*Program, error) {
	if p.Form == FormRegisters || p.Subtype != SubtypeM1 {
		return nil, &UnsupportedError{string(p.Form), "a container holds version 7 descriptors"}
	}
	b := &Builder{Procedure: p.Procedure, Constants: p.behind(regs.BARWeights)}
	for i := range p.Ports {
		q := p.Ports[i]
		if q.BAR == regs.BARWeights {
			return nil, &UnsupportedError{string(p.Form), "its weights are not in the file; a container holds them"}
		}
		if q.BAR <= regs.BARScratch {
			return nil, &UnsupportedError{"port " + q.Name, "no buffer of a container's port stands at its address"}
		}
		if p.BARs[regs.BARScratch] != 0 {
			q.Address = 0 // the scratch memory stands below all
		}
		b.Ports = append(b.Ports, q)
	}
	if n := p.BARs[2]; n != 0 {
		return nil, &UnsupportedError{string(p.Form), fmt.Sprintf("scratch memory behind buffer 2 at %#x; a container has it behind buffer %d", n, regs.BARScratch)}
	}
	if s := p.segmentAt(p.BARs[regs.BARScratch]); s != nil && p.BARs[regs.BARScratch] != 0 {
		b.Scratch = s.End() - p.BARs[regs.BARScratch]
	}
	for d, err := range p.Descriptors() {
		if err != nil {
			return nil, p.streamError(err)
		}
		b.Chain = append(b.Chain, d)
	}
	return b.Build(cmp.Or(p.Name, b.procedure()))
}
