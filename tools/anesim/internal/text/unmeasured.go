package text

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"anesim/hw"
	"anesim/hw/clock"
	"anesim/internal/explain"
	"anesim/internal/report"
)

// printUnmeasured prints the share of the time that no measured row covers, and the operations that
// cause it, the longest first. It begins with the mark that the table's rows for such work have.
func (p pager) printUnmeasured(r *hw.Report, c *hw.Chip) {
	part := r.Bounds().Unmeasured
	if part <= 0 {
		return
	}
	times := map[hw.Work]clock.Nanoseconds{}
	for i := range r.Descriptors {
		if d := &r.Descriptors[i]; !d.Measured() {
			times[d.Work()] += d.Time
		}
	}
	works := slices.SortedFunc(maps.Keys(times), func(a, b hw.Work) int {
		return cmp.Or(cmp.Compare(times[b], times[a]), cmp.Compare(a, b))
	})
	var names []string
	for _, w := range works {
		names = append(names, w.String())
	}
	wider := ", so the interval is wider"
	if c.Spread.Rows > 0 { // one interval for all work
		wider = ""
	}
	p.printf("%s %.1f%% of the time is unmeasured work%s: %s", report.UnmeasuredMark, report.Percent(part, r.Time), wider, strings.Join(names, ", "))
}

// unmeasuredRemark is the remark on changes whose gain is in work that no measured row covers.
const unmeasuredRemark = "no measurement backs this gain"

// isMostlyUnmeasured reports whether more than notedShare of the time that a change saves or adds
// is in work that no measured row covers.
func isMostlyUnmeasured(c *explain.Change) bool {
	abs := func(t clock.Nanoseconds) clock.Nanoseconds { return max(t, -t) }
	return abs(c.After.Unmeasured-c.Before.Unmeasured) > notedShare*abs(c.After.TimeNs-c.Before.TimeNs)
}
