package lint

import (
	"cmp"
	"fmt"
	"slices"

	"anesim/hw/regs"
	"anesim/loader"
)

// A Rule names a kind of mistake that a [Finding] reports.
type Rule string

// The rules.
const (
	Overlap   Rule = "overlap"
	Unread    Rule = "unread"
	Unwritten Rule = "unwritten"
	Fold      Rule = "fold"
	Hint      Rule = "hint"

	Relocation Rule = "relocation"
	Legality   Rule = "legality"
)

// Rules lists all rules, each with the mistake that it reports.
var Rules = [...]struct {
	Rule    Rule
	Mistake string
}{
	{Overlap, "a result that overwrites another, in memory or in L2, while that is still to be read or is an output; or its own source"},
	{Unread, "a result or a kept source that no descriptor and no output reads"},
	{Unwritten, "a read of scratch memory, of L2 or of an output before anything is written there"},
	{Fold, "strides that place rows, planes, channels or groups over each other"},
	{Hint, "a field that contradicts the addresses: what a descriptor waits for, whose bytes it reads, or where a tensor is"},
	{Relocation, "an address of weights in a container that has no relocation, or a relocation of another word"},
	{Legality, "a value or a section of weights that the documents exclude for Apple's compiler"},
}

// A Finding describes a probable mistake in one descriptor of a program.
type Finding struct {
	Descriptor int    `json:"descriptor"`
	Register   string `json:"register"` // the register to look at, as BLOCK.REGISTER
	Rule       Rule   `json:"rule"`
	What       string `json:"what"`
	Evidence   string `json:"evidence"` // evidence for the rule
}

// String returns the finding on one line, such as "descriptor 3 L2.ResultBase: overlap: ...".
func (f *Finding) String() string {
	return fmt.Sprintf("descriptor %d %s: %s: %s", f.Descriptor, f.Register, f.Rule, f.What)
}

// A Report lists the mistakes that [Program] found in a program.
type Report struct {
	Descriptors int
	Findings    []Finding // sorted by descriptor, at most maxFindings
	More        int       // number of findings beyond maxFindings
	Undecided   int       // number of surfaces that exceeded the limit on time
}

// maxFindings is the largest number of findings that a report lists. Further findings are only
// counted.
const maxFindings = 10_000

// Evidence for the rules. The counts refer to the 324 descriptors in 175 programs of the vendor's
// compiler that TestVendorPrograms reads. The counts of three and of nine also include programs
// outside that set.
const (
	byPlaces      = "bytes: a descriptor names addresses, and reads the values written there last"
	byStrides     = "bytes: elements are stored at base + sums of strides; that one of two at the same address is lost is inferred"
	byKept        = "bytes: a source of type 1 is kept for later readers, or repeats (16 of 16)"
	byTypes       = "bytes: types 0 in L2, 1 kept, 2 moved by the tile DMA, 3 a ring (324 of 324)"
	byLocation    = "bytes: SrcLoc says that the tile DMA moves a source (324 of 324)"
	byWaits       = "bytes: descriptors wait for data that the previous one left in L2 (114 of 114)"
	byTiles       = "bytes: bits 2-3 are 1 or 2 only if the previous descriptor left a source (23 of 23)"
	byPrevious    = "bytes: bit 18 is set exactly if the previous descriptor wrote or describes a source (324 of 324)"
	byDistance    = "bytes: bits 18-25 say how many descriptors back the scratch area was read last (3 of 3, 0 elsewhere)"
	byKernel      = "bytes: TDE is set if the chain wrote the kernel, and the word after the header names the writer (3 of 3)"
	byRings       = "bytes: a ring is read by the descriptor after the one that fills it (9 of 9)"
	byRelocations = "bytes: containers relocate the address of each weight stream that is on (25 of 25 words), and no other word (119 of 119)"
	byAttributes  = "decompiled: interleave is one of 1, 2, 3, 4 and 8 (table C.8)"
	byBanner      = "bytes: the banner's max-kernel-section-size is 134217728"
	byRuns        = "bytes: no data in L2 is needed after TSR and TSE close a run (185 of 185)"
)

// Program looks for mistakes in p that the engine would not report, such as a result that
// overwrites data before they are read. It returns an error if p cannot be linked or a descriptor
// cannot be decoded.
func Program(p *loader.Program) (*Report, error) {
	l, err := p.LinkStream(nil)
	if err != nil {
		return nil, err
	}
	s := newState(p, l)
	for t, err := range l.Stream.Tasks(new(regs.File)) {
		if err != nil {
			return nil, err
		}
		s.checkTask(t)
		s.checkInterleaves(t)
	}
	s.checkSections(p.Segments)
	if err := s.checkRelocations(); err != nil {
		return nil, err
	}
	s.checkFinalState()
	s.report.Descriptors = l.Count
	slices.SortStableFunc(s.report.Findings, func(a, b Finding) int { return cmp.Compare(a.Descriptor, b.Descriptor) })
	return &s.report, nil
}
