package command

import (
	"encoding/json"
	"testing"

	"anesim/internal/report"
)

// No row of a report is faster than the machine: its rates are of the time in which its work
// is done, which is more than the time that it adds where it runs beside other rows.
func TestRatesAreBelowThePeak(t *testing.T) {
	const rounded = 1 + 1e-9
	below := func(what string, peak report.Rates, gb, tflops float64) {
		t.Helper()
		if gb > peak.GBPerS*rounded || tflops > peak.TFLOPS*rounded {
			t.Errorf("%s: %.2f GB/s of %.2f, %.2f TFLOP/s of %.2f", what, gb, peak.GBPerS, tflops, peak.TFLOPS)
		}
	}
	for _, words := range [][]string{
		{"softmax", "c=64", "h=8", "w=64"}, {"layernorm", "c=768", "h=1", "w=128"}, {"matmul", "m=64", "k=256", "n=512"}, {"matmul", "m=16", "k=64", "n=64", "rhs=runtime"},
		{"conv", "cin=64", "h=28", "w=28", "cout=512", "k=3", "pad=same"}, {"tile", "c=16", "h=4", "w=32", "reps=1x2x1x2"}, {"pool", "c=64", "h=56", "w=56", "k=3", "stride=2"},
	} {
		out, errs, code := invoke(append([]string{"layer", "--timing-only", "--json"}, words...)...)
		var d report.Run
		if err := json.Unmarshal([]byte(out), &d); err != nil || code != 0 {
			t.Fatalf("%v: %v, %s", words, err, errs)
		}
		for i := range d.Descriptors {
			x := &d.Descriptors[i]
			below(words[0], d.Peak, float64(x.DMA.Total)/float64(x.WorkingNs), 2e-3*float64(x.MACs)/float64(x.WorkingNs))
			if x.WorkingNs < x.TimeNs {
				t.Errorf("%v, td %d: it adds %v and works for %v", words, x.Index, x.TimeNs, x.WorkingNs)
			}
		}
		below(words[0], d.Peak, d.Total.GBPerS, d.Total.TFLOPS)
	}
	for _, name := range []string{"resnet50.yaml", "transformer.yaml", "mobilenetv2.yaml", "decoder-step.onnx"} {
		out, errs, code := invoke("model", exampleLoad(name), "--json")
		var d report.Network
		if err := json.Unmarshal([]byte(out), &d); err != nil || code != 0 {
			t.Fatalf("%s: %v, %s", name, err, errs)
		}
		for i := range d.Layers {
			below(name+" "+d.Layers[i].Name, d.Peak, d.Layers[i].Total.GBPerS, d.Layers[i].TFLOPS)
		}
		below(name, d.Peak, d.Total.GBPerS, d.Total.TFLOPS)
	}
}
