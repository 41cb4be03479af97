package lower_test

import (
	"fmt"
	"runtime/debug"
	"testing"

	"github.com/x448/float16"

	"anesim"
	"anesim/hw"
	"anesim/loader"
	"anesim/loader/lower"
)

// TestMain collects garbage a quarter as often as usual. Most of it is large: memories of models,
// each for a single program.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	m.Run()
}

func init() { lower.RunProgram = runProgram }

func runProgram(p *loader.Program, in map[string][]float16.Float16) ([]float16.Float16, uint64, error) {
	res, err := anesim.Run(p, anesim.Options{Chip: hw.M1(), Values: true, Inputs: in})
	switch {
	case err != nil:
		return nil, 0, err
	case len(res.Report.Faults) > 0:
		return nil, 0, fmt.Errorf("%v", res.Report.Faults[0])
	case len(res.Outputs) != 1:
		return nil, 0, fmt.Errorf("%d outputs: %v", len(res.Outputs), res.Limits())
	}
	return res.Outputs[0].Data, res.Report.DMA.Total(), nil
}
