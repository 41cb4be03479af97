package bench

import (
	"context"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"anesim"
)

// exampleNetworks are those of the command's examples whose values are timed.
var exampleNetworks = []string{"mobilenetv2", "resnet50"}

// BenchmarkNetwork takes networks from their file to their values, as a process does: read,
// lowered with weights of a seed, packed, and every layer's values computed. Beside wall
// time stand the multiply-accumulates a second, the least wall time of an iteration,
// processor time, and the most memory that the process had resident. Both of the latter are
// Linux's.
func BenchmarkNetwork(b *testing.B) {
	for _, name := range exampleNetworks {
		b.Run(name, func(b *testing.B) {
			eachCrew(b, func(b *testing.B, workers int) {
				before := runtime.GOMAXPROCS(workers) // lowering has a goroutine a processor as well
				defer runtime.GOMAXPROCS(before)
				debug.FreeOSMemory()
				forgetPeak()
				least, cpu, macs := time.Duration(1<<62), processorTime(), uint64(0)
				for b.Loop() {
					at := time.Now()
					macs = networkValues(b, name, workers)
					least = min(least, time.Since(at))
				}
				rate(b, float64(macs), "GMAC/s")
				b.ReportMetric(least.Seconds(), "least-s")
				if used := processorTime() - cpu; used > 0 {
					b.ReportMetric(used.Seconds()/float64(b.N), "cpu-s/op")
				}
				if peak := residentPeak(); peak > 0 {
					b.ReportMetric(float64(peak)/1e6, "peak-MB")
				}
			})
		})
	}
}

// networkValues computes the values of an example network and returns the number of
// multiply-accumulates.
func networkValues(tb testing.TB, name string, workers int) (macs uint64) {
	tb.Helper()
	m, err := anesim.Open("../tools/anesim/examples/" + name + ".yaml")
	if err != nil {
		tb.Fatal(err)
	}
	res, err := m.Run(context.Background(), anesim.Options{Values: true, Seed: 1, Workers: workers})
	if err != nil {
		tb.Fatal(err)
	}
	if len(res.Outputs) == 0 || len(res.Report.Faults) > 0 {
		tb.Fatalf("%d outputs, faults %v", len(res.Outputs), res.Report.Faults)
	}
	for i := range res.Report.Descriptors {
		macs += res.Report.Descriptors[i].MACs
	}
	return macs
}

// The benchmark's networks have values whatever the number of workers, and the same.
func TestNetworkValues(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: values of a whole network take a second")
	}
	var want []anesim.Output
	for _, workers := range []int{1, 3} {
		m, err := anesim.Open("../tools/anesim/examples/mobilenetv2.yaml")
		if err != nil {
			t.Fatal(err)
		}
		res, err := m.Run(context.Background(), anesim.Options{Values: true, Seed: 1, Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		if len(res.Outputs) != 1 || len(res.Outputs[0].Data) != 1000 {
			t.Fatalf("%d outputs", len(res.Outputs))
		}
		if want == nil {
			want = res.Outputs
		} else if !slices.Equal(want[0].Data, res.Outputs[0].Data) {
			t.Errorf("values with %d workers differ from those with one", workers)
		}
	}
}
