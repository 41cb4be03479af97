package report_test

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"anesim"
	"anesim/internal/firmware/traffic"
	"anesim/internal/report"
	"anesim/internal/samples"
	"anesim/internal/scripts"
)

const profiledNetwork = `inputs: {x: {c: 16, h: 8, w: 8}}
layers:
  - {name: first, op: conv, cout: 32, k: 3, pad: 1}
  - {name: second, op: conv, cout: 32, k: 1}
  - {name: last, op: softmax, axis: c}
`

// Samples sum to the report's totals for every kind of model, read by pprof's own reader.
func TestProfileSumsToTheReport(t *testing.T) {
	layer, err := anesim.Layer("conv", "cin=64", "h=28", "w=28", "cout=64", "k=3", "pad=1")
	if err != nil {
		t.Fatal(err)
	}
	for name, m := range map[string]*anesim.Model{
		"program": anesim.Identity(), "layer": layer, "network": samples.Read(t, profiledNetwork),
	} {
		for _, repeat := range []int{1, 3, 100_000} {
			res := samples.Run(t, m, anesim.Options{Repeat: repeat})
			var b bytes.Buffer
			if err := report.WriteProfile(&b, res, "net.yaml"); err != nil {
				t.Fatal(err)
			}
			p, err := profile.Parse(&b)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			var got [4]int64
			for _, s := range p.Sample {
				for i, v := range s.Value {
					if v < 0 {
						t.Errorf("%s: negative sample %v", name, s.Value)
					}
					got[i] += v
				}
			}
			r := res.Report
			want := [4]int64{
				int64(r.Cycles), int64(math.Round(float64(r.Time))), int64(math.Round(float64(r.Energy))), int64(r.DMA.Total()),
			}
			if got != want {
				t.Errorf("%s, %d dispatches: cycles, ns, nJ, bytes %v, the report has %v", name, repeat, got, want)
			}
		}
	}
}

// A stack of a network names the layer with its file and line, and cycles of a cause have
// no energy: that has parts of its own.
func TestProfileStacks(t *testing.T) {
	res := samples.Run(t, samples.Read(t, profiledNetwork), anesim.Options{})
	var b bytes.Buffer
	if err := report.WriteProfile(&b, res, "net.yaml"); err != nil {
		t.Fatal(err)
	}
	p, err := profile.Parse(&b)
	if err != nil {
		t.Fatal(err)
	}
	cycles := map[string]int64{}
	for _, s := range p.Sample {
		leaf := s.Location[0].Line[0].Function.Name
		if root := s.Location[len(s.Location)-1].Line[0].Function.Name; root != "net" {
			t.Errorf("root %q", root)
		}
		if kind, _, _ := strings.Cut(leaf, ":"); kind == "cycles" != (s.Value[0] > 0) || kind != "energy" && s.Value[2] != 0 || kind != "traffic" && s.Value[3] != 0 {
			t.Errorf("%s has %v", leaf, s.Value)
		}
		if len(s.Location) != 4 {
			continue // a dispatch's own
		}
		l := s.Location[2].Line[0]
		cycles[l.Function.Name] += s.Value[0]
		if l.Function.Filename != "net.yaml" || l.Line != map[string]int64{"first": 3, "second": 4, "last": 5}[l.Function.Name] {
			t.Errorf("layer %s at %s:%d", l.Function.Name, l.Function.Filename, l.Line)
		}
	}
	for _, l := range res.Layers {
		if got := cycles[l.Layer.Name]; got == 0 || got != int64(l.Report.Cycles) {
			t.Errorf("layer %s: %d cycles in the profile, %d in the report", l.Layer.Name, got, l.Report.Cycles)
		}
	}
}

// A load's profile has what the engine did for each client, and what it drew while it
// waited; its sums are the report's.
func TestProfileOfALoad(t *testing.T) {
	script, err := traffic.ReadScript([]byte(`
duration: 20ms
clients:
  - {name: fast, layer: conv cin=64 h=56 w=56 cout=64 k=3 pad=same, priority: 1, arrival: poisson, rate: 3000}
  - {name: slow, layer: matmul m=128 k=768 n=768 rhs=runtime, priority: 5, threads: 3}
`))
	if err != nil {
		t.Fatal(err)
	}
	l, err := scripts.RunClients(t.Context(), script, nil)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := report.WriteLoadProfile(&b, l, "load.yaml"); err != nil {
		t.Fatal(err)
	}
	p, err := profile.Parse(&b)
	if err != nil {
		t.Fatal(err)
	}
	var got [4]int64
	clients := map[string]bool{}
	for _, s := range p.Sample {
		for i := range got {
			got[i] += s.Value[i]
		}
		if n := len(s.Location); n > 2 {
			clients[s.Location[n-2].Line[0].Function.Name] = true
		}
	}
	d := report.NewLoad(l)
	if math.Abs(float64(got[1])-float64(d.BusyNs)) > 1 || math.Abs(float64(got[2])-float64(d.EnergyNJ+d.WaitNJ)) > 1 {
		t.Errorf("%d ns and %d nJ, the report has %.1f and %.1f", got[1], got[2], d.BusyNs, d.EnergyNJ+d.WaitNJ)
	}
	if !clients["fast"] || !clients["slow"] || len(clients) != 2 {
		t.Errorf("clients %v", clients)
	}
}
