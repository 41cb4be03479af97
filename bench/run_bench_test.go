package bench

import (
	"context"
	"io"
	"testing"

	"anesim"
	"anesim/internal/report"
)

// BenchmarkRunLongChain runs a chain of 20,000 descriptors: timed, timed and written as JSON,
// and with values.
func BenchmarkRunLongChain(b *testing.B) {
	const n = 20_000
	p, err := LongChain(n)
	if err != nil {
		b.Fatal(err)
	}
	benchmarkRuns(b, anesim.FromProgram(p), n)
}

// BenchmarkRunResNet50 runs ResNet-50, which is lowered before, as BenchmarkRunLongChain does
// its chain, but for values.
func BenchmarkRunResNet50(b *testing.B) {
	m, err := anesim.Open("../tools/anesim/examples/resnet50.yaml")
	if err != nil {
		b.Fatal(err)
	}
	res, err := m.Run(context.Background(), anesim.Options{})
	if err != nil {
		b.Fatal(err)
	}
	benchmarkRuns(b, m, len(res.Report.Descriptors))
}

// benchmarkRuns measures runs of a model with the given number of descriptors.
func benchmarkRuns(b *testing.B, m *anesim.Model, descriptors int) {
	for _, run := range []struct {
		name   string
		values bool
		json   bool
	}{{name: "timed"}, {name: "json", json: true}, {name: "values", values: true}} {
		if run.values && m.Kind() == anesim.KindNetwork {
			continue // BenchmarkNetwork does
		}
		b.Run(run.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				res, err := m.Run(context.Background(), anesim.Options{Values: run.values})
				if err != nil {
					b.Fatal(err)
				}
				if run.json {
					if err := report.WriteJSON(io.Discard, res); err != nil {
						b.Fatal(err)
					}
				}
			}
			rate(b, float64(descriptors), "descriptors/s")
		})
	}
}
