package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"anesim"
	"anesim/hw"
	"anesim/internal/datapath/mac"
	"anesim/internal/datapath/tiles"
	"anesim/loader/layer"
	"anesim/loader/network/list"
)

// A Precision says where a layer or a descriptor loses accuracy. Rounds lists its roundings. Sums
// is set for multiply-accumulates.
type Precision struct {
	Rounds string `json:"rounds"`
	Sums   *Sums  `json:"sums,omitempty"`
}

// Sums compares the results of multiply-accumulates, before an activation, with exact sums of the same
// operands, on a sample. Errors are root mean squares as fractions of the exact results.
// They are nil if a sum becomes infinite.
type Sums struct {
	Results  uint64   `json:"results"`
	Sampled  uint64   `json:"sampled"`
	Dropped  float64  `json:"dropped"`  // share of the products of which an operand is too small
	Vanished float64  `json:"vanished"` // share of the products that round to 0
	Error    *float64 `json:"error"`
	Rounding float64  `json:"fp16_error"`  // of exact sums rounded to fp16
	Largest  float64  `json:"largest_sum"` // magnitude of a partial sum
	Limit    float64  `json:"limit"`       // of partial sums; 0 for none
	// Shift is the power of two by which weights may be multiplied, and sums divided, to make the error
	// smallest, and Scaled the error that remains. Shift is 0 if that gains nothing, or if there are no
	// weights to multiply.
	Shift  int      `json:"shift"`
	Scaled *float64 `json:"scaled_error"`

	fixed bool // for HasWeights
}

// HasWeights reports whether a user may scale the weights or an operand of the sums. It is false for
// layers that have none in their network, such as an average pool: only their input can be scaled.
func (s *Sums) HasWeights() bool { return !s.fixed }

// Gain returns the factor by which scaling reduces the error. It is at least 1, and +Inf if only
// scaled sums are finite.
func (s *Sums) Gain() float64 {
	switch {
	case s.Shift == 0 || s.Scaled == nil || *s.Scaled == 0:
		return 1
	case s.Error == nil:
		return math.Inf(1)
	}
	return *s.Error / *s.Scaled
}

// newSums converts the figures of p. It returns nil if p is nil or has no results.
func newSums(p *tiles.Precision) *Sums {
	if p == nil || p.Sampled == 0 {
		return nil
	}
	s := &Sums{
		Results: p.Results, Sampled: p.Sampled, Rounding: p.Rounding(), Largest: p.Largest,
		Error: finite(p.Error(0)), Shift: p.Best(),
	}
	if p.Products > 0 {
		s.Dropped, s.Vanished = float64(p.Dropped)/float64(p.Products), float64(p.Vanished)/float64(p.Products)
	}
	if p.Limited {
		s.Limit = mac.Limit
	}
	s.Scaled = finite(p.Error(s.Shift))
	return s
}

// finite returns the address of v, or nil if JSON has no number for v.
func finite(v float64) *float64 {
	if math.IsInf(v, 0) || v != v {
		return nil
	}
	return &v
}

// Loses reports whether the sums add to the error that fp16 results have anyway: whether they at least
// double it, or become infinite.
func (s *Sums) Loses() bool { return s.Error == nil || *s.Error > 2*s.Rounding }

// A PrecisionRow is the precision of the layer, or of the descriptor, of the given name.
type PrecisionRow struct {
	Name, Op string
	*Precision
}

// PrecisionRows returns the layers with their precision, in order, if it was requested.
func (d *Network) PrecisionRows() (list []PrecisionRow) {
	for i := range d.Layers {
		if l := &d.Layers[i]; l.Precision != nil {
			list = append(list, PrecisionRow{l.Name, l.Op, l.Precision})
		}
	}
	return list
}

// PrecisionRows returns the descriptors of the program with their precision, in order, if it was
// requested. Several dispatches of a descriptor count together.
func (d *Run) PrecisionRows() []PrecisionRow { return d.precision }

// setPrecisions sets the precision of the layers of d, or of the descriptors of a Run, if r has it.
func (d *Network) setPrecisions(r *anesim.Result) {
	if !r.Options.Precision {
		return
	}
	for i := range r.Layers {
		x := &d.Layers[i]
		switch l := &r.Layers[i]; {
		case l.Host > 0:
			x.Precision = &Precision{Rounds: "nothing before its result: the host computes it"}
		case l.Report == nil:
			x.Precision = &Precision{Rounds: "not known: " + cmp.Or(l.Reason, "no report")}
		case l.Note != "":
			x.Precision = &Precision{Rounds: "not known: " + l.Note}
		default:
			x.Precision = newPrecision(l.Report.Descriptors, hasFreeWeights(l.Layer))
		}
	}
}

// setPrecisions sets the precision of the descriptors of d, if r has it.
func (d *Run) setPrecisions(r *anesim.Result) {
	if !r.Options.Precision {
		return
	}
	free := len(r.Layers) == 0 || hasFreeWeights(r.Layers[0].Layer)
	dispatches := map[int][]hw.DescriptorReport{} // by the descriptor's index in the program
	for i := range d.Descriptors {
		x := &r.Report.Descriptors[i]
		d.Descriptors[i].Precision = precisionOf(r.Report.Descriptors[i:i+1], free)
		dispatches[x.Index] = append(dispatches[x.Index], *x)
	}
	for _, index := range slices.Sorted(maps.Keys(dispatches)) {
		list := dispatches[index]
		d.precision = append(d.precision, PrecisionRow{fmt.Sprintf("descriptor %d", index), NewDescriptor(&list[0]).Op, precisionOf(list, free)})
	}
}

// precisionOf returns the precision of a descriptor, with a report for each dispatch, as newPrecision
// does, or the reason why it is not known.
func precisionOf(list []hw.DescriptorReport, free bool) *Precision {
	for i := range list {
		if note := list[i].Note(); note != "" {
			return &Precision{Rounds: "not known: " + note}
		}
	}
	return newPrecision(list, free)
}

// hasFreeWeights reports whether the sums of a layer have operands that a user may scale. An average pool
// and a pad of zeros are convolutions too, but their filters are made when the network is read.
func hasFreeWeights(l *list.Layer) bool {
	if l.Average || strings.EqualFold(l.Op, "pad") {
		return false
	}
	return list.Needs(&l.Lower).Filter > 0 || l.Lower.Op == layer.MatMul
}

// newPrecision returns the precision of a layer with the given descriptors. Descriptors of several
// dispatches count together. Scaling is advised only if free says that weights may be scaled.
func newPrecision(list []hw.DescriptorReport, free bool) *Precision {
	var sums tiles.Precision
	var rounds []string
	for i := range list {
		d := &list[i]
		if d.Precision != nil {
			sums.Add(d.Precision)
		}
		if text := roundingsIn(d); text != "" && !slices.Contains(rounds, text) {
			rounds = append(rounds, text)
		}
	}
	p := &Precision{Rounds: cmp.Or(strings.Join(rounds, "; "), "nothing"), Sums: newSums(&sums)}
	if p.Sums != nil && !free {
		p.Sums.Shift, p.Sums.Scaled, p.Sums.fixed = 0, p.Sums.Error, true
	}
	return p
}

// roundingsIn describes the roundings in a descriptor. It returns "" if there are none.
func roundingsIn(d *hw.DescriptorReport) string {
	switch d.Op {
	case hw.Conv, hw.MatMul:
		text := "products to 2^-16, sums to fp16"
		if d.Lookups > 0 {
			text += ", activations by table"
		}
		return text
	case hw.Activation:
		if d.Lookups == 0 {
			return "" // ReLU
		}
		return "activations by table"
	case hw.Elementwise:
		return "elementwise results to fp16"
	case hw.Reduce:
		return "reductions to fp16"
	}
	return ""
}
