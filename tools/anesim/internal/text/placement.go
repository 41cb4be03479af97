package text

import (
	"io"
	"strings"

	"anesim/internal/report"
	"anesim/tools/anesim/internal/terminal"
)

// printPlacement prints which backend runs which layers, with one line per segment, and the
// messages of backends that refused a layer. It prints nothing if d is nil.
func (p pager) printPlacement(d *report.Placement) {
	if d == nil {
		return
	}
	by := ""
	if d.Segmenter != "shortest-path" {
		by = " --segmenter " + d.Segmenter
	}
	p.printf("placement (--compute %s%s): %v estimated in %s; rates of CPU, GPU and transfers are assumed",
		d.Compute, by, d.Runtime, report.Plural(d.Segments, "segment"))
	for i := 0; i < len(d.Operations); {
		first := &d.Operations[i]
		sum, end := first.Runtime, i+1
		// A segment is a run of layers on one backend: it is launched once, so its launch and transfer are
		// those of its first layer.
		for ; end < len(d.Operations) && d.Operations[end].Backend == first.Backend; end++ {
			sum += d.Operations[end].Runtime
		}
		what := report.Printable(first.Path)
		if end > i+1 {
			what += " to " + report.Printable(d.Operations[end-1].Path)
		}
		p.printf("  %-6s %s, %s: %v, launch %v, transfer %v (%s)", first.Backend, what, report.Plural(end-i, "layer"),
			sum, first.LaunchNs, first.CrossNs, report.Size(first.Crossing))
		i = end
	}
	if d.LeaveNs > 0 {
		p.printf("  conversion of results to the host's layout: %v", d.LeaveNs)
	}
	for i := range d.Operations {
		for _, m := range d.Operations[i].Messages {
			p.printf("  %s: %s", report.Printable(d.Operations[i].Path), report.Printable(m))
		}
	}
	if n := len(d.WithoutACost); n > 0 {
		p.printf("  no cost in the plan: %s", report.Printable(strings.Join(d.WithoutACost, ", ")))
	}
}

// WriteCache writes where the cache entry of a program is, and whether it was found, made or
// replaced. If the entry could not be stored, WriteCache writes a warning instead. It writes
// nothing if d is nil, which means that no cache was used.
func WriteCache(w io.Writer, d *report.Cache) error {
	if d == nil {
		return nil
	}
	p := terminal.NewPager(w)
	if d.Unkept != "" {
		p.Printf("warning: cannot store the program in the cache: %s", report.Printable(d.Unkept))
		return p.Err
	}
	p.Printf("cache: %s %s (%s)", d.Outcome, report.Printable(d.Path), report.Size(uint64(d.Bytes)))
	if d.Why != "" {
		p.Printf("cache: replaced a damaged entry: %s", d.Why)
	}
	return p.Err
}
