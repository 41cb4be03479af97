package anesim

import (
	"cmp"
	"fmt"
	"slices"

	"anesim/hw"
	"anesim/loader/network/weights"
)

// minDroppedShare is the smallest share of a layer's weights below 2^-13 for a note to mention the
// layer. The share is one of norms. Smaller losses are within the usual error of fp16.
const minDroppedShare = 0.01

// PrecisionNotes describes the losses of precision in the values of a run, in one sentence each. One note
// is about the first descriptor whose result has an infinity or a NaN. Another is about layers with
// weights so small that the engine drops their products with small inputs. PrecisionNotes returns nil if
// there was no loss, or if no values were computed.
func (r *Result) PrecisionNotes() (notes []string) {
	if !r.Options.Values {
		return nil
	}
	if note := r.overflowNote(); note != "" {
		notes = append(notes, note)
	}
	if note := r.smallWeightsNote(); note != "" {
		notes = append(notes, note)
	}
	return notes
}

// overflowNote returns a sentence about the first descriptor that ran whose result contains an
// infinity or a NaN. It returns "" if there is none.
func (r *Result) overflowNote() string {
	for k := range r.Programs {
		p := &r.Programs[k]
		if p.Report == nil {
			continue
		}
		for i := range p.Report.Descriptors {
			d := &p.Report.Descriptors[i]
			if d.Overflow == nil {
				continue
			}
			name := fmt.Sprintf("descriptor %d", d.Index)
			if l := r.LayerOf(p, d); l != nil {
				name = fmt.Sprintf("layer %s, %s", l.Layer.Name, name)
			}
			return name + ": " + describeOverflow(d.Overflow)
		}
	}
	return ""
}

// describeOverflow returns text such as "3 of 64 results are beyond fp16; the largest finite
// magnitude is 60000".
func describeOverflow(o *hw.Overflow) string {
	text := fmt.Sprintf("%d of %d results are beyond fp16", o.Infinite+o.NaN, o.Elements)
	if o.NaN > 0 {
		text += fmt.Sprintf(" (%d NaN)", o.NaN)
	}
	text += fmt.Sprintf("; the largest finite magnitude is %g", o.Largest)
	switch {
	case o.Given:
		text += "; its input has infinities or NaNs already"
	case o.Read > 0:
		text += fmt.Sprintf(", that of its input %g", o.Read)
	}
	return text
}

// smallWeightsNote returns a sentence about the layers with weights below 2^-13, whose products
// with inputs below 1/4 the engine drops. It says how many such layers there are and which of them has
// the largest share of its norm there. It returns "" if there are none.
func (r *Result) smallWeightsNote() string {
	type loser struct {
		name  string
		share float64
	}
	var list []loser
	for i := range r.Layers {
		l := &r.Layers[i]
		if share := weights.DroppedShare(l.Layer); share >= minDroppedShare && l.Report != nil {
			list = append(list, loser{l.Layer.Name, share})
		}
	}
	if len(list) == 0 {
		return ""
	}
	worst := slices.MaxFunc(list, func(a, b loser) int { return cmp.Compare(a.share, b.share) })
	layers := "1 layer has"
	if len(list) > 1 {
		layers = fmt.Sprintf("%d layers have", len(list))
	}
	return fmt.Sprintf("the engine drops products of weights below 2^-13 with inputs below 1/4: %s %.0f%% or more of the norm of the weights there, %s the most (%.1f%%); --precision shows the loss",
		layers, 100*minDroppedShare, worst.name, 100*worst.share)
}
