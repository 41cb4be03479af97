package explain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/x448/float16"

	"anesim"
	"anesim/bench/report"
	"anesim/firmware"
	"anesim/hw"
	"anesim/hw/chip"
	"anesim/hw/clock"
	"anesim/hw/tiles"
	"anesim/loader/layer"
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
	{"memory bandwidth x1.5", []string{"TotalRate", "ReadRate", "TileRate", "LaneRate"}, 1.5},
	{"planar engine x1.5", []string{"PlanarRate"}, 1.5},
	{"L2 banks x2", []string{"L2Banks"}, 2},
	{"kernel memory x2", []string{"KernelMemory"}, 2},
	{"memory latency x0.5", []string{"MemoryLatency"}, 0.5},
}

// tryMachines times the model on each chip variant in machines and adds those that save time to the
// explanation.
func (x *explainer) tryMachines(ctx context.Context) error {
	for _, m := range machines {
		o := x.options
		o.Chip = x.base.Options.Chip
		words := []string{x.chipFlag()}
		failed := false
		for _, name := range m.constants {
			v := m.factor * chipConstant(&o.Chip, name)
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
				x.countUntried()
			}
			continue
		}
		c := Change{
			Alike: 1, Kind: "chip", Change: m.what, Needs: "another machine", Results: "the same", Before: x.doc.Now, After: *after,
			CommandBefore: x.modelCommand(), Command: x.modelCommand("--chip", strings.Join(words, ",")),
		}
		x.doc.Machines = append(x.doc.Machines, x.computeGain(c, 1))
	}
	slices.SortStableFunc(x.doc.Machines, func(a, b Change) int { return cmp.Compare(b.SavedNs, a.SavedNs) })
	return nil
}

// chipConstant returns the value of the named constant of chip c, or 0 if c has no such constant.
func chipConstant(c *hw.Chip, name string) float64 {
	for n, k := range c.Constants() {
		if n == name {
			return k.Value
		}
	}
	return 0
}

// chipFlag returns a value for the flag --chip that selects the chip of the run: the value that the
// user gave, or the chip's name.
func (x *explainer) chipFlag() string {
	for i := 0; i+1 < len(x.how.Flags); i += 2 {
		if x.how.Flags[i] == "--chip" {
			return x.how.Flags[i+1]
		}
	}
	return x.base.Options.Chip.Name
}

// modelCommand returns a command line that runs the model with the user's flags and the given ones,
// which replace user flags of the same name.
func (x *explainer) modelCommand(flags ...string) string {
	var list []string
	switch x.model.Kind() {
	case anesim.KindLayer:
		list = append(append([]string{"anesim", "layer"}, strings.Fields(x.model.Name())...), "--timing-only")
	case anesim.KindNetwork:
		list = append([]string{"anesim", "model", x.how.File}, x.residencyFlag()...)
	default:
		list = []string{"anesim", "run", x.how.File, "--timing-only"}
	}
	for i := 0; i+1 < len(x.how.Flags); i += 2 {
		f := x.how.Flags[i]
		if slices.Contains(flags, f) || x.model.Kind() == anesim.KindLayer && f != "--chip" && f != "--gate-tiles" {
			continue
		}
		list = append(list, f, x.how.Flags[i+1])
	}
	return quoteCommand(append(list, flags...))
}

// gates lists the tiles to gate: a quarter, half and three quarters of the array.
var gates = [...]string{"0-7", "0-15", "0-23"}

// Thresholds for a gain by gating tiles: minimum relative saving of energy and maximum
// relative increase of time.
const (
	gatedEnergy = 0.005
	gatedTime   = 0.01
)

// isGatingWorthwhile reports whether gating tiles saves at least the fraction gatedEnergy of the
// energy and adds at most the fraction gatedTime to the time. The energies include dispatch, the
// fixed energy of dispatches, which both costs exclude.
func isGatingWorthwhile(before, after *report.Cost, dispatch clock.Nanojoules) bool {
	saved := float64(before.EnergyNJ - after.EnergyNJ)
	return float64(after.TimeNs) <= (1+gatedTime)*float64(before.TimeNs) && saved >= gatedEnergy*float64(before.EnergyNJ+dispatch)
}

// tryGating times the model with a quarter, a half and three quarters of the array's tiles gated,
// and records the variant that saves the most energy for almost no extra time.
func (x *explainer) tryGating(ctx context.Context) error {
	if x.options.GateTiles != 0 {
		return nil
	}
	var best *Change
	ran := 0
	for _, list := range gates {
		o := x.options
		var err error
		if o.GateTiles, err = firmware.ParseTiles(list); err != nil {
			return err
		}
		x.doc.Tried.All++
		after, err := x.measureModel(ctx, x.model, o)
		if err != nil {
			if err := x.countFailure(ctx, err); err != nil {
				return err
			}
			continue
		}
		ran++
		before := &x.doc.Now
		if !isGatingWorthwhile(before, after, x.doc.DispatchNJ) {
			continue
		}
		if best == nil || after.EnergyNJ < best.After.EnergyNJ {
			best = &Change{
				Alike: 1, Kind: "gating", Change: fmt.Sprintf("gate tiles %s of the array's %d", list, tiles.Tiles), Needs: "the driver to gate them: --gate-tiles " + list,
				Results: "the same, assuming that the open tiles take over the work of the gated ones", Before: *before, After: *after,
				CommandBefore: x.modelCommand(), Command: x.modelCommand("--gate-tiles", list),
			}
		}
	}
	if best != nil {
		ran--
		x.doc.Tried.Faster++
		x.doc.Trials = append(x.doc.Trials, x.computeGain(*best, 1))
	}
	x.doc.Tried.NotFaster += ran
	return nil
}

// maxPruned is the maximum number of weights that are generated to estimate the gain of
// pruning.
const maxPruned = 4 << 20

// tryPruning times convolution l with every other weight set to zero. It tries only convolutions
// with strides of two, for which the compiler can leave out zeros.
func (x *explainer) tryPruning(ctx context.Context, l *layer.Layer, words, names []string, before *report.Cost) error {
	w := &l.Window
	n := l.Cout * l.In.C / max(1, l.Groups) * w.Kh * w.Kw
	if l.Op != layer.Convolution || w.Sy != 2 || w.Sx != 2 || n > maxPruned {
		return nil
	}
	x.doc.Tried.All++
	m, err := anesim.Layer(words[0], words[1:]...)
	if err != nil {
		return x.countFailure(ctx, err)
	}
	weights := make([]float16.Float16, n)
	for i := range weights {
		if i%2 == 0 {
			weights[i] = float16.Fromfloat32(1)
		}
	}
	o := x.options
	o.Shapes, o.State, o.Overrides = nil, nil, nil
	o.Inputs = map[string][]float16.Float16{"weights": weights}
	after, err := x.measureModel(ctx, m, o)
	if err != nil {
		return x.countFailure(ctx, err)
	}
	part := ""
	if len(names) > 0 {
		part = names[0]
	}
	x.addChange(Change{
		Part: part, Alike: max(1, len(names)), Kind: "sparsity", Change: "prune half of the weights: every other one zero", Needs: "weights trained so; the compiler leaves zeros of strides of two out: --in weights=FILE.npy",
		Results: "other: only training can tell whether they are good enough", Before: *before, After: *after, Alone: part != "", CommandBefore: x.layerCommand(words),
	}, max(1, len(names)))
	return nil
}
