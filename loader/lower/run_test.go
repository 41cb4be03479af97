package lower_test

import (
	"fmt"

	"github.com/x448/float16"

	"anesim"
	"anesim/hw"
	"anesim/loader"
	"anesim/loader/lower"
)

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
