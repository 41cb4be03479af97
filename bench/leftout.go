package bench

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"

	"anesim/internal/measured"
)

//go:embed residuals.txt
var residuals string

// A Prediction holds the model's estimates for a measured row, after a fit that left out the row
// and all others in its fold; see [Protocol].
type Prediction struct {
	Time   float64 // nanoseconds of a call
	Engine float64 // engine's part of Time in nanoseconds
	Energy float64 // nanojoules
}

// A LeftOut holds the predictions for one measured row, indexed by [Protocol].
type LeftOut [numProtocols]Prediction

// LeftOuts returns the predictions for the built-in rows, keyed by the ID of the row. They are
// stored values from the last calibration.
func LeftOuts() (map[string]LeftOut, error) { return parseLeftOutPredictions(residuals) }

// readRows returns the built-in rows and the predictions of [LeftOuts].
func readRows() ([]measured.Row, map[string]LeftOut, error) {
	rows, err := measured.Rows()
	if err != nil {
		return nil, nil, err
	}
	left, err := LeftOuts()
	return rows, left, err
}

func parseLeftOutPredictions(text string) (map[string]LeftOut, error) {
	out := make(map[string]LeftOut)
	n := 0
	for line := range strings.Lines(text) {
		n++
		if line[0] == '#' {
			continue
		}
		f := strings.Fields(line)
		if len(f) != 1+3*numProtocols {
			return nil, fmt.Errorf("residuals.txt:%d: line has %d fields; want %d", n, len(f), 1+3*numProtocols)
		}
		var l LeftOut
		for p := range l {
			for i, x := range [...]struct {
				to   *float64
				unit float64
			}{{&l[p].Time, 1e3}, {&l[p].Engine, 1e3}, {&l[p].Energy, 1e6}} {
				v, err := strconv.ParseFloat(f[1+3*p+i], 64)
				if err != nil {
					return nil, fmt.Errorf("residuals.txt:%d: %w", n, err)
				}
				*x.to = float64(v * x.unit)
			}
		}
		out[f[0]] = l
	}
	return out, nil
}

// LeftOut returns a copy of a in which the estimate of each row is replaced by its prediction under
// the protocol. The copy shows how accurate the model is for rows that it was not fitted to. It
// omits rows without a prediction.
func (a *Accuracy) LeftOut(predictions map[string]LeftOut, protocol Protocol) (*Accuracy, error) {
	out := new(Accuracy)
	for _, r := range a.Rows {
		l, ok := predictions[r.Sample.Row.ID]
		if !ok {
			continue
		}
		r.setPrediction(&l[protocol])
		out.Rows = append(out.Rows, r)
	}
	p := DefaultPresets()
	return out, out.summarize(&p)
}

// setPrediction replaces the model's estimates in r by the prediction p.
func (r *Residual) setPrediction(p *Prediction) {
	r.Time.Model, r.Engine, r.Energy.Model = p.Time, p.Engine, p.Energy
}
