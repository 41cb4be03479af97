package text

import (
	"fmt"
	"io"
	"strings"

	"anesim/internal/report"
)

// printSpills prints which tensors between layers are written to memory because they do not fit in
// L2. It names the first three and counts the others.
func (p pager) printSpills(list []report.Spill) {
	const named = 3
	if len(list) == 0 {
		return
	}
	sum := 0
	for _, s := range list {
		sum += s.Bytes
	}
	p.printf("not kept in L2: %s, %s", report.Plural(len(list), "tensor"), report.Size(uint64(sum)))
	for _, s := range list[:min(named, len(list))] {
		p.printf("  %s, %s: %s", report.Printable(s.Tensor), report.Size(uint64(s.Bytes)), s.Why)
	}
	if n := len(list) - named; n > 0 {
		p.printf("  and %d more (--json: spilled)", n)
	}
}

// WriteOccupancy draws a bar chart of the bytes of L2 in use while a network runs. Each bar shows
// the largest use in a group of consecutive descriptors.
func WriteOccupancy(w io.Writer, d *report.Network) error {
	const lines, width, whole = 40, 50, 2 << 20
	p := newPager(w)
	if len(d.L2) == 0 {
		p.printf("L2: no tensor is kept between layers")
		return p.Err
	}
	each := (len(d.L2) + lines - 1) / lines
	p.printf("L2 of %s; each line shows the fullest of %s", report.Size(whole), report.Plural(each, "descriptor"))
	for from := 0; from < len(d.L2); from += each {
		to := min(from+each, len(d.L2))
		most := 0
		for _, x := range d.L2[from:to] {
			most = max(most, x.Bytes)
		}
		label := fmt.Sprintf("%d:%d", d.L2[from].Program, d.L2[from].Descriptor)
		p.printf("%8s  %-*s  %s", label, width, strings.Repeat("#", (most*width+whole-1)/whole), report.Size(uint64(most)))
	}
	return p.Err
}
