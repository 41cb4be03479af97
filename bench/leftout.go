package bench

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
)

//go:embed residuals.txt
var residuals string

// numProtocols is the number of protocols.
const numProtocols = 2

// A Prediction is the model's word on a row, from a fit that left the row's fold out.
type Prediction struct {
	Time   float64 // nanoseconds of a call
	Engine float64 // of them, the engine's
	Energy float64 // nanojoules
}

// A LeftOut is a row's predictions, by [Protocol].
type LeftOut [numProtocols]Prediction

// LeftOuts are the left-out predictions of the built-in rows, by row: those that the last
// calibration wrote.
func LeftOuts() (map[string]LeftOut, error) { return parseLeftOuts(residuals) }

func parseLeftOuts(text string) (map[string]LeftOut, error) {
	out := make(map[string]LeftOut)
	n := 0
	for line := range strings.Lines(text) {
		n++
		if line[0] == '#' {
			continue
		}
		f := strings.Fields(line)
		if len(f) != 1+3*numProtocols {
			return nil, fmt.Errorf("residuals.txt:%d: %d fields, want %d", n, len(f), 1+3*numProtocols)
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

// LeftOut is the accuracy that fits without the rows' folds have: what to expect of what
// the fit has not seen. Rows that no fit left out do not count.
func (a *Accuracy) LeftOut(left map[string]LeftOut, by Protocol) (*Accuracy, error) {
	out := new(Accuracy)
	for _, r := range a.Rows {
		l, ok := left[r.Sample.Row.ID]
		if !ok {
			continue
		}
		r.predict(&l[by])
		out.Rows = append(out.Rows, r)
	}
	p := DefaultPresets()
	return out, out.summarize(&p)
}

// predict puts a prediction in place of the model's word.
func (r *Residual) predict(p *Prediction) {
	r.Time.Model, r.Engine, r.Energy.Model = p.Time, p.Engine, p.Energy
}
