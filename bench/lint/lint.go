package lint

import (
	"cmp"
	"fmt"
	"slices"

	"anesim/hw/regs"
	"anesim/loader"
)

// A Rule is what a finding is about.
type Rule string

// The rules.
const (
	Overlap   Rule = "overlap"   // a result is written over another that is still read
	Unread    Rule = "unread"    // a result that nobody reads
	Unwritten Rule = "unwritten" // a read of bytes that nobody wrote
	Fold      Rule = "fold"      // strides that put elements of a surface on each other
	Hint      Rule = "hint"      // a field that says something else than the addresses
)

// A Finding is one thing that is wrong with a descriptor.
type Finding struct {
	Descriptor int    `json:"descriptor"`
	Register   string `json:"register"` // the one to look at, as BLOCK.REGISTER
	Rule       Rule   `json:"rule"`
	What       string `json:"what"`
	Evidence   string `json:"evidence"` // what the rule rests on
}

func (f *Finding) String() string {
	return fmt.Sprintf("td %d %s: %s: %s", f.Descriptor, f.Register, f.Rule, f.What)
}

// A Report is what lint has to say about a program.
type Report struct {
	Descriptors int
	Findings    []Finding // by descriptor, at most MaxFindings
	More        int       // findings beyond those
	Undecided   int       // surfaces that took more than their share of time to decide
}

// MaxFindings is how many findings a report lists.
const MaxFindings = 10_000

// What the rules rest on. The counts are of the 324 descriptors in 175 programs of the vendor's
// compiler that TestVendorPrograms reads; those of three and nine include programs read
// elsewhere.
const (
	byPlaces   = "bytes: a descriptor names places, and reads what was left there last"
	byStrides  = "bytes: elements stand at base + sums of strides; that one of two in one place is lost is inferred"
	byKept     = "bytes: a source of type 1 is kept for later readers, or repeats (16 of 16)"
	byTypes    = "bytes: types 0 in the L2, 1 kept, 2 moved by the tile DMA, 3 a ring (324 of 324)"
	byLocation = "bytes: SrcLoc says that the tile DMA moves a source (324 of 324)"
	byWaits    = "bytes: what the descriptor before left in the L2 is waited for (114 of 114)"
	byTiles    = "bytes: bits 2-3 are 1 or 2 only behind a result of the descriptor before (23 of 23)"
	byPrevious = "bytes: bit 18 is set exactly where the descriptor before wrote or describes a source (324 of 324)"
	byDistance = "bytes: bits 18-25 say how many descriptors back the scratch area was read last (3 of 3, 0 elsewhere)"
	byKernel   = "bytes: TDE is set where the chain wrote the kernel, and the word behind the header says who (3 of 3)"
	byRings    = "bytes: the descriptor behind one that fills a ring reads it (9 of 9)"
	byRuns     = "bytes: where TSR and TSE close a run nothing is live in the L2 (185 of 185)"
)

// Program lints a program. The error is one of a program that cannot be walked; see
// [loader.Program.Link].
func Program(p *loader.Program) (*Report, error) {
	l, err := p.LinkStream()
	if err != nil {
		return nil, err
	}
	s := newState(p, l)
	for t, err := range l.Stream.Tasks(new(regs.File)) {
		if err != nil {
			return nil, err
		}
		s.task(t)
	}
	s.end()
	s.report.Descriptors = l.Count
	slices.SortStableFunc(s.report.Findings, func(a, b Finding) int { return cmp.Compare(a.Descriptor, b.Descriptor) })
	return &s.report, nil
}
