package explain

import (
	"context"
	"fmt"
	"strings"

	"anesim/firmware"
	"anesim/hw/clock"
	"anesim/internal/datapath/tiles"
	"anesim/internal/report"
)

// gates lists the tiles to gate: a quarter, half and three quarters of the array.
var gates = [...]string{"0-7", "0-15", "0-23"}

// Thresholds for a gain by gating tiles: minimum relative saving of energy and maximum
// relative increase of time.
const (
	gatedEnergy = 0.005
	gatedTime   = 0.01
)

// isGatingWorthwhile reports whether gating tiles saves at least the fraction gatedEnergy of the
// energy and lengthens the time by at most the fraction gatedTime. The fixed energy of dispatches
// is dispatch; the costs before and after do not include it.
func isGatingWorthwhile(before, after *report.Cost, dispatch clock.Nanojoules) bool {
	saved := float64(before.EnergyNJ - after.EnergyNJ)
	return float64(after.TimeNs) <= (1+gatedTime)*float64(before.TimeNs) && saved >= gatedEnergy*float64(before.EnergyNJ+dispatch)
}

// tryGating times the model with a quarter, a half and three quarters of the array's tiles gated,
// and records the variant that saves the most energy for almost no extra time.
func (x *explainer) tryGating(ctx context.Context) error {
	// Only a driver of the user's own can gate tiles: under macOS the firmware decides.
	if x.options.GateTiles != 0 || !strings.HasPrefix(x.options.Host.Name, "linux") {
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
			if err := x.recordFailure(ctx, err); err != nil {
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
				CommandBefore: x.formatModelCommand(), Command: x.formatModelCommand("--gate-tiles", list),
			}
		}
	}
	if best != nil {
		ran--
		x.doc.Tried.Faster++
		x.doc.Trials = append(x.doc.Trials, x.withGain(*best, 1))
	}
	x.doc.Tried.NotFaster += ran
	if best == nil && ran > 0 {
		x.doc.Useless = append(x.doc.Useless, "gate tiles of the array")
	}
	return nil
}
