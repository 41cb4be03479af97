package view

import (
	"cmp"
	"fmt"
	"slices"

	"anesim"
	"anesim/bench/report"
	"anesim/hw/clock"
)

// A Report is a result as pictures and pages show it.
type Report struct {
	Kind       string // "program", "network", "sweep", "load" or "accuracy"
	Name       string
	Chip, Host string
	Tool       anesim.Tool
	Peak       report.Rates // of the chip; zeros where the document has none

	Facts  []Fact // the headline
	Of     string // what an item is: "descriptor", "layer", "point", "client" or "row"
	Items  []Item
	Table  Table
	Energy report.Energy // of the whole
	Power  []report.Span
	Busy   []float64 // of a load: the share of each span of Power that the engine is busy

	Points []Point      // of an accuracy: measured rows
	Tables []NamedTable // beside the one of all items

	Limits  []report.Limit
	Missing []report.Missing // layers in no total
	Faults  []report.Fault
	Notes   []string

	Document any // what the report was made of
}

// A Point is a measured row and what the model makes of it, in microseconds.
type Point struct {
	Name, Group     string
	Measured, Model float64
	Low, High       float64
}

// A NamedTable is a table under a title.
type NamedTable struct {
	Title string
	Table
}

// Intro says what the report is of.
func (r *Report) Intro() string {
	switch {
	case r.Kind == "accuracy":
		return "The model of the neural engine against published measurements of M1-family machines."
	case r.Host == "none" || r.Host == "":
		return fmt.Sprintf("A %s on the model of the neural engine of %s, without a host.", r.Kind, r.Chip)
	}
	return fmt.Sprintf("A %s on the model of the neural engine of %s, host %s.", r.Kind, r.Chip, r.Host)
}

// A Fact is a number of the headline. Value is the document's number, Name its place there.
type Fact struct {
	Label, Text string
	Name        string
	Value       float64
	Note        string
}

// An Item is a layer, a descriptor, a point of a sweep or a client of a load.
type Item struct {
	Name      string
	Op        string
	Work      string // the same for layers that do the same; "" for no others
	Bound     string // cause with the most cycles
	Advice    string
	Cycles    report.Cycles
	Time      clock.Nanoseconds
	Working   clock.Nanoseconds // what rates are of; 0 where it is Time
	Low, High clock.Nanoseconds // 0 for no interval
	Energy    clock.Nanojoules
	Parts     report.Energy
	MACs      uint64
	Bytes     uint64 // between device memory and the engine
}

// Works returns the time that the item's rates are of, were its own time t.
func (x *Item) Works(t clock.Nanoseconds) clock.Nanoseconds {
	if x.Working <= 0 || x.Time <= 0 {
		return t
	}
	return clock.Nanoseconds(float64(t) * float64(x.Working/x.Time))
}

// TFLOPS is the rate of the item's multiply-accumulates, each two operations, in 1e12 a
// second, were its time t.
func (x *Item) TFLOPS(t clock.Nanoseconds) float64 {
	if t <= 0 {
		return 0
	}
	return 2 * float64(x.MACs) / float64(x.Works(t)) / 1e3
}

// Intensity is operations for each byte moved; 0 where none is.
func (x *Item) Intensity() float64 {
	if x.Bytes == 0 {
		return 0
	}
	return 2 * float64(x.MACs) / float64(x.Bytes)
}

// Longest are the indices of up to n items with the most cycles, or with the most time
// where cycles are not known, the longest first.
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

// A Kind is items that are alike: the same work, bound by the same cause.
type Kind struct {
	First  int // index of the first item
	Count  int
	Cycles uint64
	Bound  uint64 // cycles of the cause that bounds them
	Time   clock.Nanoseconds
}

// Kinds returns the items by kind, those with the most cycles first. Items without a key, such
// as descriptors, are kinds of their own, and items without cycles are in none.
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

// EnergyParts are an energy's parts in the order that documents have them.
func EnergyParts(e *report.Energy) []Part {
	return []Part{
		{"multiply-accumulates", e.MAC}, {"table look-ups", e.Table}, {"L2", e.L2},
		{"device memory", e.DRAM}, {"planar engine", e.Planar}, {"powered engines", e.Active}, {"dispatch", e.Dispatch},
	}
}

// A Part is a part of an energy.
type Part struct {
	Name   string
	Energy clock.Nanojoules
}

// Rate is a rate to three digits.
func Rate(v float64) string { return fmt.Sprintf("%.3g", v) }

// share is a part of a whole in percent.
func share(part, whole float64) string {
	if whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100*part/whole)
}
