package bench

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
)

//go:embed residuals.txt
var residuals string

// A LeftOut is what fits without a row's shape made of it: relative errors, and whether
// there is a measurement.
type LeftOut struct {
	Time, Energy       float64
	HasTime, HasEnergy bool
}

// LeftOuts are the leave-one-shape-out errors of the built-in rows, by row: those that the
// last calibration wrote.
func LeftOuts() (map[string]LeftOut, error) {
	out := make(map[string]LeftOut)
	n := 0
	for line := range strings.Lines(residuals) {
		n++
		if line[0] == '#' {
			continue
		}
		f := strings.Fields(line)
		if len(f) != 3 {
			return nil, fmt.Errorf("residuals.txt:%d: %d fields, want 3", n, len(f))
		}
		var l LeftOut
		for i, x := range []struct {
			to  *float64
			has *bool
		}{{&l.Time, &l.HasTime}, {&l.Energy, &l.HasEnergy}} {
			v := f[1+i]
			if v == "-" {
				continue
			}
			e, err := strconv.ParseFloat(v, 64)
			if err != nil {
				return nil, fmt.Errorf("residuals.txt:%d: %w", n, err)
			}
			*x.to, *x.has = e, true
		}
		out[f[0]] = l
	}
	return out, nil
}

// LeftOut is the accuracy that the left-out errors of its rows make: what to expect of
// shapes the fit has not seen. Rows without one do not count.
func (a *Accuracy) LeftOut(errors map[string]LeftOut) (*Accuracy, error) {
	out := new(Accuracy)
	for _, r := range a.Rows {
		l, ok := errors[r.Sample.Row.ID]
		if !ok {
			continue
		}
		if l.HasTime {
			r.Time.Model = r.Time.Reference * (1 + l.Time)
		} else {
			r.Time = Pair{}
		}
		if l.HasEnergy {
			r.Energy.Model = r.Energy.Reference * (1 + l.Energy)
		} else {
			r.Energy = Pair{}
		}
		out.Rows = append(out.Rows, r)
	}
	p := DefaultPresets()
	return out, out.summarize(&p)
}
