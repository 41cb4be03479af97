package loader

import (
	"cmp"
	"fmt"

	"anesim/hw/regs"
)

// Rebuild returns program p converted to a hardware container, with the same descriptors. Ports
// keep their addresses unless the program has scratch memory. Rebuild returns an
// *[UnsupportedError] if a container cannot hold the program, for example because its weights are
// missing.
func (p *Program) Rebuild() (*Program, error) {
	if p.Form == FormRegisters || p.Subtype != SubtypeM1 {
		return nil, &UnsupportedError{string(p.Form), "unsupported by containers, which hold version 7 descriptors only"}
	}
	b := &Builder{Procedure: p.Procedure, Constants: p.bufferData(p.WeightsBAR()), Sections: p.findWeightSections()}
	if w := p.WeightsBAR(); w != regs.BARWeights {
		b.WeightsBAR, b.TensorsAt = w, p.BARs[regs.BARWeights]-p.BARs[w]
	}
	for i := range p.Ports {
		q := p.Ports[i]
		if q.BAR == regs.BARWeights {
			return nil, &UnsupportedError{string(p.Form), "weights are missing from the file; a container requires them"}
		}
		if q.BAR <= regs.BARScratch {
			return nil, &UnsupportedError{"port " + q.Name, fmt.Sprintf("uses buffer %d; a container requires a buffer above %d", q.BAR, regs.BARScratch)}
		}
		if p.BARs[regs.BARScratch] != 0 {
			q.Address = 0 // the scratch memory is placed first
		}
		b.Ports = append(b.Ports, q)
	}
	// Files of the Linux driver may have scratch memory there. Descriptors name the buffer, so it cannot
	// move.
	if n := p.BARs[2]; n != 0 {
		return nil, &UnsupportedError{string(p.Form), fmt.Sprintf("scratch memory is in buffer 2 at %#x; a container requires buffer %d", n, regs.BARScratch)}
	}
	if s := p.segmentContaining(p.BARs[regs.BARScratch]); s != nil && p.BARs[regs.BARScratch] != 0 {
		b.Scratch = s.End() - p.BARs[regs.BARScratch]
	}
	for d, err := range p.Descriptors() {
		if err != nil {
			return nil, p.wrapStreamError(err)
		}
		b.Chain = append(b.Chain, d)
	}
	return b.Build(cmp.Or(p.Name, b.procedureName()))
}
