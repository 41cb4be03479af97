package view

import (
	"cmp"
	"fmt"
	"slices"

	"anesim"
	"anesim/hw/clock"
	"anesim/internal/report"
)

// A Report is a result in the form that pages and pictures use. Fields that do not apply to the
// kind of result are zero.
type Report struct {
	WhatIfs    []report.WhatIf
	Kind       string // "program", "network", "sweep", "load" or "accuracy"
	Name       string
	Chip, Host string
	Tool       anesim.Tool
	Peak       report.Rates // of the chip; zero if the document has none

	Facts  []Fact // the headline
	Of     string // what an item is: "descriptor", "layer", "point", "client" or "row"
	Items  []Item
	Table  Table
	Energy report.Energy // of the whole result
	Power  []report.Span
	Busy   []float64 // for a load: share of each span of Power in which the engine is busy

	Points []Point      // for an accuracy: measured rows
	Tables []NamedTable // tables other than that of all items

	Limits  []report.Limit
	Missing []report.Missing // layers left out of all totals
	Faults  []report.Fault
	Notes   []string

	Document any // source of the report
}

// A Point compares a measured time with the model. Model is the modelled time, and Low and High are
// the ends of its interval. All times are in microseconds.
type Point struct {
	Name, Group     string
	Measured, Model float64
	Low, High       float64
}

// A NamedTable is a table with a title.
type NamedTable struct {
	Title string
	Table
}

// Intro returns an introductory sentence for a page. It names the kind of the result, the chip and
// the host. The sentence for an accuracy report names only the quantities that are compared.
func (r *Report) Intro() string {
	switch {
	case r.Kind == "accuracy":
		return "The model of the neural engine against published measurements of M1-family machines."
	case r.Host == "none" || r.Host == "":
		return fmt.Sprintf("A %s on the model of the neural engine of %s, without a host.", r.Kind, r.Chip)
	}
	return fmt.Sprintf("A %s on the model of the neural engine of %s, host %s.", r.Kind, r.Chip, r.Host)
}

// A Fact is a figure in the headline of a page. Text is the figure as shown, Value is the figure as
// a number, and Name is the path of that number in the JSON report.
type Fact struct {
	Label, Text string
	Name        string
	Value       float64
	Note        string
}

// An Item is one of the parts that a result lists: a layer, a descriptor, a point of a sweep or a
// client of a load.
type Item struct {
	Name      string
	Op        string
	Work      string // equal for layers that do the same work; "" if the item is like no other
	Bound     string // cause with the most cycles
	Advice    string
	Cycles    report.Cycles
	Time      clock.Nanoseconds
	Working   clock.Nanoseconds // time on which rates are based; 0 if it equals Time
	Low, High clock.Nanoseconds // 0 if there is no interval
	Energy    clock.Nanojoules
	Parts     report.Energy
	MACs      uint64
	Bytes     uint64 // between device memory and the engine
}

// workingTime returns the time on which the item's rates are based. The argument t is the time that
// the item adds to the total. The item itself may work longer, because its work overlaps with that
// of other items. The result is therefore t multiplied by x.Working/x.Time, or t if either of these
// is 0.
func (x *Item) workingTime(t clock.Nanoseconds) clock.Nanoseconds {
	if x.Working <= 0 || x.Time <= 0 {
		return t
	}
	return clock.Nanoseconds(float64(t) * float64(x.Working/x.Time))
}

// TFLOPS returns the rate of the item in 1e12 operations per second if it adds the time t to the
// total; see Item.workingTime. It returns 0 if t is 0. A multiply-accumulate counts as two
// operations.
func (x *Item) TFLOPS(t clock.Nanoseconds) float64 {
	if t <= 0 {
		return 0
	}
	return 2 * float64(x.MACs) / float64(x.workingTime(t)) / 1e3
}

// Intensity returns the number of operations per byte moved, or 0 if the item moves no bytes. A
// multiply-accumulate counts as two operations.
func (x *Item) Intensity() float64 {
	if x.Bytes == 0 {
		return 0
	}
	return 2 * float64(x.MACs) / float64(x.Bytes)
}

// Longest returns the indices of the n items with the most cycles, or of all items if there are
// fewer than n. The item with the most cycles comes first. Of items with equal cycles, the one with
// the longest time comes first.
func (r *Report) Longest(n int) []int {
	order := make([]int, len(r.Items))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := &r.Items[a], &r.Items[b]
		return cmp.Or(cmp.Compare(y.Cycles.Total, x.Cycles.Total), cmp.Compare(y.Time, x.Time))
	})
	return order[:min(n, len(order))]
}

// A Kind is a group of items that do the same work and have the same bottleneck.
type Kind struct {
	First  int // index of the first item
	Count  int
	Cycles uint64
	Bound  uint64 // cycles of the cause that bounds them
	Time   clock.Nanoseconds
}

// Kinds groups the items that do the same work and have the same bottleneck. The groups with the
// most cycles come first. An item with an empty Work is a group of its own. An item without cycles
// is in no group.
func (r *Report) Kinds() []Kind {
	type key struct{ work, bound string }
	found := map[key]int{}
	var list []Kind
	for i := range r.Items {
		x := &r.Items[i]
		if x.Cycles.Total == 0 {
			continue
		}
		at := key{x.Work, x.Bound}
		k, ok := found[at]
		if !ok || x.Work == "" {
			k = len(list)
			found[at], list = k, append(list, Kind{First: i})
		}
		y := &list[k]
		y.Count++
		y.Cycles += x.Cycles.Total
		y.Time += x.Time
		for name, n := range x.Cycles.All() {
			if name == x.Bound {
				y.Bound += n
			}
		}
	}
	slices.SortStableFunc(list, func(a, b Kind) int { return cmp.Compare(b.Cycles, a.Cycles) })
	return list
}

// FormatRate formats a rate with three significant digits, such as "23.4". From 1,000 on, it
// formats a whole number with commas, such as "1,234".
func FormatRate(v float64) string {
	if v >= 999.5 {
		return report.Rate(v)
	}
	return fmt.Sprintf("%.3g", v)
}

// formatShare returns part/whole in percent as text. It returns "-" if whole is 0.
func formatShare(part, whole float64) string {
	if whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100*part/whole)
}
