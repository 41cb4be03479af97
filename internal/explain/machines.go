package explain

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"anesim/hw"
	"anesim/hw/chip"
)

// A scaledChip describes a variant of a chip: the constants that differ and the factor.
type scaledChip struct {
	what      string
	constants []string
	factor    float64
}

// machines lists the variants of a chip on which a model is timed. A variant that is faster shows
// which constant limits the model.
var machines = [...]scaledChip{
	{"clock x1.25", []string{"Clock"}, 1.25},
	{"memory bandwidth x1.5", []string{"TotalRate", "ReadRate", "TileRate", "LaneRate", "BusyLaneRate", "StreamRate"}, 1.5},
	{"planar engine x1.5", []string{"PlanarRate"}, 1.5},
	{"L2 banks x2", []string{"L2Banks"}, 2},
	{"kernel memory x2", []string{"KernelMemory"}, 2},
	{"memory latency x0.5", []string{"MemoryLatency"}, 0.5},
}

// tryChipVariants times the model on each chip variant in machines. It adds the variants that save
// time to the explanation.
func (x *explainer) tryChipVariants(ctx context.Context) error {
	for _, m := range machines {
		o := x.options
		// A variant changes the chip that the caller chose, so that its saving is that of the change
		// alone.
		o.Chip = x.base.Options.Chip
		flag, value := x.formatChipFlag()
		words := []string{value}
		failed := false
		for _, name := range m.constants {
			v := m.factor * lookUpChipConstant(&o.Chip, name)
			failed = failed || chip.Set(&o.Chip, name, v) != nil // beyond the constant's bounds
			words = append(words, name+"="+strconv.FormatFloat(v, 'g', -1, 64))
		}
		if failed {
			continue
		}
		after, err := x.measureModel(ctx, x.model, o)
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if errors.Is(err, errWork) {
				x.recordUntried()
			}
			continue
		}
		c := Change{
			Alike: 1, Kind: "chip", Change: m.what, Needs: "another machine", Results: "the same", Before: x.doc.Now, After: *after,
			CommandBefore: x.formatModelCommand(), Command: x.formatModelCommand(flag, strings.Join(words, ",")),
		}
		x.doc.Machines = append(x.doc.Machines, x.withGain(c, 1))
	}
	slices.SortStableFunc(x.doc.Machines, func(a, b Change) int { return cmp.Compare(b.SavedNs, a.SavedNs) })
	return nil
}

// lookUpChipConstant returns the value of the named constant of chip c, or 0 if c has no such constant.
func lookUpChipConstant(c *hw.Chip, name string) float64 {
	for n, k := range c.Constants() {
		if n == name {
			return k.Value
		}
	}
	return 0
}
