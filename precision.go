package anesim

import (
	"cmp"
	"fmt"
	"slices"

	"anesim/hw"
	"anesim/loader/network/weights"
)

// flushedNote is the least share of a layer's norm in weights that the engine reads as 0 that
// a report names: less is within what fp16 costs anyway.
const flushedNote = 0.01

// PrecisionNotes returns a sentence for each way in which fp16 cost the run values: the first
// result that is infinite or NaN, and layers whose weights the engine reads as 0. It returns
// nil for a run without values.
func (r *Result) PrecisionNotes() (notes []string) {
	if !r.Options.Values {
		return nil
	}
	if note := r.overflowNote(); note != "" {
		notes = append(notes, note)
	}
	if note := r.flushedNote(); note != "" {
		notes = append(notes, note)
	}
	return notes
}

// overflowNote names the first descriptor, in the order in which they ran, whose result has
// left fp16.
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
			return name + ": " + overflowText(d.Overflow)
		}
	}
	return ""
}

func overflowText(o *hw.Overflow) string {
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

// flushedNote counts the layers that lose weights, and names the one that loses most.
func (r *Result) flushedNote() string {
	type loser struct {
		name  string
		share float64
	}
	var list []loser
	for i := range r.Layers {
		l := &r.Layers[i]
		if share := weights.FlushedShare(l.Layer); share >= flushedNote && l.Report != nil {
			list = append(list, loser{l.Layer.Name, share})
		}
	}
	if len(list) == 0 {
		return ""
	}
	worst := slices.MaxFunc(list, func(a, b loser) int { return cmp.Compare(a.share, b.share) })
	layers := "1 layer loses"
	if len(list) > 1 {
		layers = fmt.Sprintf("%d layers lose", len(list))
	}
	return fmt.Sprintf("the engine reads weights below 2^-14 as 0: %s %.0f %% or more of the norm of the weights, %s the most (%.1f %%)",
		layers, 100*flushedNote, worst.name, 100*worst.share)
}
