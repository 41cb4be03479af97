package explain

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"anesim"
	"anesim/firmware"
	"anesim/hw/regs"
	"anesim/internal/report"
	"anesim/loader"
)

// maxChecked is the maximum number of multiply-accumulates of a program whose values are
// computed to check that a change preserves them.
const maxChecked = 1e9

// A knob is a register field that a compiler may choose freely, with the values to try.
type knob struct {
	name   string // GROUP.REGISTER.FIELD, as in --set
	what   string
	of     func(g *regs.Groups) uint32 // raw bits of the field
	values func(now []uint32) []uint32
}

// newValueRange returns a function that returns the field values 0 to n-1. The function ignores
// its argument.
func newValueRange(n uint32) func([]uint32) []uint32 {
	return func([]uint32) (list []uint32) {
		for v := range n {
			list = append(list, v)
		}
		return list
	}
}

// listNearbyValues returns values to try for a field that has the values now: half of each value,
// the value plus 1, and twice the value. It omits 0 and duplicates.
func listNearbyValues(now []uint32) (list []uint32) {
	for _, v := range now {
		for _, w := range [...]uint32{v / 2, v + 1, 2 * v} {
			if w > 0 && !slices.Contains(list, w) {
				list = append(list, w)
			}
		}
	}
	return list
}

var knobs = [...]knob{
	{"Common.Cfg.ActiveNE", "MAC engines at work, log2", func(g *regs.Groups) uint32 { return g.Common.Cfg.ActiveNE() }, newValueRange(5)},
	{"Common.ConvCfg.OCGSize", "output channels an engine makes in one pass, log2", func(g *regs.Groups) uint32 { return g.Common.ConvCfg.OCGSize() }, newValueRange(5)},
	{"Common.TileCfg.TileHeight", "rows of a tile", func(g *regs.Groups) uint32 { return g.Common.TileCfg.TileHeight() }, listNearbyValues},
	{"L2.Src1RowStride.Value", "row stride of the first source in L2", func(g *regs.Groups) uint32 { return uint32(g.L2.Src1RowStride.Bytes()) / 16 }, listNearbyValues},
	{"L2.Src2RowStride.Value", "row stride of the second source in L2", func(g *regs.Groups) uint32 { return uint32(g.L2.Src2RowStride.Bytes()) / 16 }, listNearbyValues},
	{"L2.ResultRowStride.Value", "row stride of the result in L2", func(g *regs.Groups) uint32 { return uint32(g.L2.ResultRowStride.Bytes()) / 16 }, listNearbyValues},
}

// tryRegisters times the program with other values in each of the register fields in knobs. Like
// the flag --set, it changes a field in all descriptors at once.
func (x *explainer) tryRegisters(ctx context.Context) error {
	linked, err := x.base.Programs[0].Program.Link()
	if err != nil {
		return err
	}
	want, why, err := x.computeOutputs(ctx, x.options)
	if err != nil {
		return err
	}
	for _, k := range knobs {
		now := listFieldValues(linked, &k)
		for _, v := range k.values(now) {
			if len(now) == 1 && now[0] == v {
				continue
			}
			text := k.name + "=" + strconv.FormatUint(uint64(v), 10)
			set, err := firmware.ParseOverride(text)
			if err != nil {
				continue // the value does not fit the field
			}
			if err := x.tryRegister(ctx, &k, set, text, want, why); err != nil {
				return err
			}
		}
	}
	return nil
}

// listFieldValues returns the distinct values of the register field of knob k in the descriptors of
// l.
func listFieldValues(l *loader.Linked, k *knob) (list []uint32) {
	for _, t := range l.Tasks {
		if v := k.of(&t.Groups); !slices.Contains(list, v) {
			list = append(list, v)
		}
	}
	return list
}

// tryRegister times the program with the register field of k overridden by set, which is written as
// text. If the change saves cycles and the outputs still equal want, it records the change. If the
// outputs cannot be compared, why is the reason, and otherwise "".
func (x *explainer) tryRegister(ctx context.Context, k *knob, set firmware.Override, text string, want []report.Output, why string) error {
	x.doc.Tried.All++
	o := x.options
	o.Overrides = append(slices.Clone(o.Overrides), set)
	after, err := x.measureModel(ctx, x.model, o)
	if err != nil {
		return x.recordFailure(ctx, err)
	}
	c := Change{
		Alike: 1, Kind: "register", Change: fmt.Sprintf("%s: --set %s", k.what, text),
		Needs:   fmt.Sprintf("the program patched: anesim patch %s --set %s -o OUT.hwx", quoteCommand([]string{x.how.File}), text),
		Results: "not checked: " + why, Before: x.doc.Now, After: *after,
		CommandBefore: x.formatFileCommand("run", "--timing-only"), Command: x.formatFileCommand("run", "--timing-only", "--set", text),
	}
	if after.Cycles < c.Before.Cycles && why == "" {
		got, what, err := x.computeOutputs(ctx, o)
		if err != nil {
			return x.recordFailure(ctx, err)
		}
		if what != "" || !slices.EqualFunc(want, got, report.Output.Equal) {
			x.doc.Tried.OtherResults++
			return nil
		}
		c.Results = "the same, bit for bit, on pseudo-random inputs"
	}
	x.addChange(c, 1)
	return nil
}

// computeOutputs runs the program on pseudo-random inputs and returns its outputs. If that is
// impossible or needs too many operations, it returns the reason as the second result instead.
func (x *explainer) computeOutputs(ctx context.Context, o anesim.Options) ([]report.Output, string, error) {
	if x.base.Report.MACs > maxChecked {
		return nil, fmt.Sprintf("more than %.0f million multiply-accumulates", maxChecked/1e6), nil
	}
	o.Values = true
	res, err := x.model.Run(ctx, o)
	switch {
	case err != nil:
		return nil, "", err
	case len(res.Report.Faults) > 0:
		return nil, "the device faults", nil
	case len(res.Outputs) == 0:
		return nil, "the model does not compute the program's values", nil
	}
	return report.OutputsOf(res), "", nil
}
