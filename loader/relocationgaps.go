package loader

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"anesim/hw/regs"
)

// A RelocationGap says how the relocations of a container differ from the addresses of weights that one
// of its descriptors loads. Containers of the vendor's compiler have a relocation for each of these
// addresses (25 of 25 words) and for no other word (119 of 119).
type RelocationGap struct {
	Task    int    // descriptor in the chain
	Missing int    // weight addresses without a relocation
	Lane    int    // lane of the first of them
	Extra   int    // relocations of words that are no weight addresses in use
	Field   string // field of the first of them
}

// RelocationGaps are the gaps of a program, in the order of its descriptors.
type RelocationGaps []RelocationGap

// String sums the gaps up in a sentence. It returns "" if there is none.
func (g RelocationGaps) String() string {
	missing, extra := 0, 0
	var firstMissing, firstExtra *RelocationGap
	for i := range g {
		missing, extra = missing+g[i].Missing, extra+g[i].Extra
		if firstMissing == nil && g[i].Missing > 0 {
			firstMissing = &g[i]
		}
		if firstExtra == nil && g[i].Extra > 0 {
			firstExtra = &g[i]
		}
	}
	text := ""
	if missing > 0 {
		text = fmt.Sprintf("weight addresses without a relocation: %d, the first of descriptor %d; they stay where they are if the constants move", missing, firstMissing.Task)
	}
	if extra > 0 {
		if text != "" {
			text += "; "
		}
		text += fmt.Sprintf("relocations of words that are no weight addresses in use: %d, the first of descriptor %d, %s", extra, firstExtra.Task, firstExtra.Field)
	}
	return text
}

// RelocationGaps compares the relocations of a container with the addresses of weights that its
// descriptors load. The program runs all the same where its constants are; but a loader that places
// them elsewhere moves exactly the words that have a relocation. Programs of other forms have no
// relocations and no gaps. The error is that of a chain that cannot be read.
func (p *Program) RelocationGaps() (RelocationGaps, error) {
	if p.Container == nil {
		return nil, nil
	}
	relocated := map[uint32]int{} // relocations of each word, by its offset
	for i := range p.Relocations {
		if r := &p.Relocations[i]; r.Kind == SectionRelative {
			relocated[r.Off]++
		}
	}
	gaps := map[int]*RelocationGap{}
	gap := func(task int) *RelocationGap {
		if gaps[task] == nil {
			gaps[task] = &RelocationGap{Task: task}
		}
		return gaps[task]
	}
	register, _ := regs.Lookup("KernelDMASrc", "CoeffBaseAddr[0]")
	weights := p.WeightsBAR()
	next, stop := iter.Pull2(p.Descriptors())
	defer stop()
	for s, err := range p.States() {
		if err != nil {
			return nil, p.wrapStreamError(err)
		}
		d, err, ok := next()
		if !ok || err != nil {
			return nil, p.wrapStreamError(err)
		}
		bases := s.Header.KernelBases
		ofConstants := bases.KBE0() && int(bases.KBase0()) == weights
		for lane, c := range s.Groups.KernelDMASrc.CoeffDMAConfig {
			words := p.WordsOf(d, register.Addr()+4*uint32(lane))
			if len(words) == 0 || !c.En() || s.Groups.KernelDMASrc.CoeffBfrSize[lane].Bytes() == 0 || !ofConstants {
				continue
			}
			last := words[len(words)-1] // the one that counts
			if relocated[last] == 0 {
				g := gap(s.Index)
				if g.Missing++; g.Missing == 1 {
					g.Lane = lane
				}
			}
			delete(relocated, last)
		}
	}
	for i := range p.Relocations {
		r := &p.Relocations[i]
		if r.Kind != SectionRelative || relocated[r.Off] == 0 {
			continue
		}
		g := gap(r.Task)
		if g.Extra++; g.Extra == 1 {
			g.Field = r.Field()
		}
	}
	var list RelocationGaps
	for _, g := range gaps {
		list = append(list, *g)
	}
	slices.SortFunc(list, func(a, b RelocationGap) int { return cmp.Compare(a.Task, b.Task) })
	return list, nil
}
