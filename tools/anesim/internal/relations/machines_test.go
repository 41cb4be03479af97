package relations

import (
	"encoding/csv"
	"encoding/json"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"anesim/hw/clock"
	reports "anesim/internal/report"
)

// A call holds the time of the engine and that of a whole call, in nanoseconds.
type call struct{ engine, wall float64 }

// readJSON decodes what a command prints.
func readJSON(t *testing.T, v any, args ...string) {
	t.Helper()
	if err := json.Unmarshal([]byte(anesimOK(t, args...)), v); err != nil {
		t.Fatalf("anesim %s: %v", strings.Join(args, " "), err)
	}
}

// runCall returns the call in the JSON report of a run.
func runCall(t *testing.T, args ...string) call {
	t.Helper()
	var doc struct {
		Total struct {
			Time float64 `json:"time_ns"`
			Wall float64 `json:"wall_ns"`
		}
	}
	readJSON(t, &doc, append(args, "--json")...)
	return call{doc.Total.Time, doc.Total.Wall}
}

// sweepCall returns the call in the only row that a command prints.
func sweepCall(t *testing.T, args ...string) (c call) {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(anesimOK(t, args...))).ReadAll()
	if err != nil || len(rows) != 2 {
		t.Fatalf("anesim %s: %d lines, %v", strings.Join(args, " "), len(rows), err)
	}
	for i, name := range rows[0] {
		switch v, err := strconv.ParseFloat(rows[1][i], 64); {
		case name == "time_ns" && err == nil:
			c.engine = v
		case name == "wall_ns" && err == nil:
			c.wall = v
		}
	}
	return c
}

// Every command that takes --machine gives one and the same time for one network on it: of the engine,
// and of a call where the command has calls.
func TestMachinesAgree(t *testing.T) {
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	near := func(t *testing.T, way string, want, got call) {
		t.Helper()
		const digits = 1e-8 // of a row of CSV
		if math.Abs(got.engine-want.engine) > digits*want.engine || math.Abs(got.wall-want.wall) > digits*want.wall {
			t.Errorf("%s: %+v; model: %+v", way, got, want)
		}
	}
	programs := 0
	files := []string{"picture.mil", "classifier.mlpackage", "decoder-step.onnx", "decode.yaml", "observed.yaml", "transformer.yaml", "mobilenetv2.yaml", "resnet50.yaml"}
	if testing.Short() {
		files = files[:4]
	}
	for _, name := range files {
		file := filepath.Join(examples, name)
		anesimOK(t, "model", file, "--emit", name+".hwx")
		emitted, err := filepath.Glob(name + "*.hwx")
		if err != nil {
			t.Fatal(err)
		}
		table := anesimOK(t, "model", file, "--machine", "m1,m1max,a14,m4")
		for _, machine := range []string{"m1", "m1max", "a14", "m4"} {
			t.Run(name+" on "+machine, func(t *testing.T) {
				on := []string{"--machine", machine}
				want := runCall(t, append([]string{"model", file}, on...)...)
				if want.wall <= want.engine || want.engine <= 0 {
					t.Fatalf("%+v", want)
				}
				near(t, "sweep", want, sweepCall(t, append([]string{"sweep", file}, on...)...))
				// A constant that no call depends on, so that all designs take as long.
				near(t, "sweep optimize", want, sweepCall(t, append([]string{"sweep", "optimize", file, "chip.WakeTime=1e5..1e6", "--csv"}, on...)...))
				var explained struct {
					Now struct {
						Time float64 `json:"time_ns"`
					}
					Call float64 `json:"call_ns"`
				}
				readJSON(t, &explained, append([]string{"explain", file, "--json"}, on...)...)
				near(t, "explain", want, call{explained.Now.Time, explained.Call})
				text := clock.Nanoseconds(want.wall).String()
				if out := anesimOK(t, append([]string{"diff", file, file}, on...)...); !strings.Contains(out, "a call: "+text+" -> "+text+" ") {
					t.Errorf("diff: no call of %s in\n%s", text, out)
				}
				short := reports.TimeText(clock.Nanoseconds(want.wall))
				if !strings.Contains(strings.Join(strings.Fields(table), " "), " "+short+" ") {
					t.Errorf("no call of %s in\n%s", short, table)
				}
				base := filepath.Join(t.TempDir(), "base.json")
				anesimOK(t, append([]string{"check", "--baseline", base, "--update", file}, on...)...)
				var baseline struct {
					Entries []struct {
						Total struct {
							Time float64 `json:"time_ns"`
						}
					}
				}
				if err := json.Unmarshal(read(t, base), &baseline); err != nil || len(baseline.Entries) != 1 {
					t.Fatalf("%d entries, %v", len(baseline.Entries), err)
				}
				near(t, "check", call{engine: want.engine}, call{engine: baseline.Entries[0].Total.Time})
				if len(emitted) == 1 { // the program is the whole network, as nothing runs on the host
					programs++
					near(t, "run of its program", want, runCall(t, append([]string{"run", emitted[0], "--timing-only"}, on...)...))
				}
			})
		}
	}
	if programs == 0 {
		t.Error("no network is one program")
	}
}

// A measured row of a machine is compared with the time that a layer of its shape has on that machine.
func TestAccuracyAgreesWithLayers(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, tc := range []struct{ op, columns, row, layer string }{
		{"conv", "N,Cin,H,W,Cout,Kh,Kw,stride", "1,64,56,56,128,3,3,1", "conv cin=64 h=56 w=56 cout=128 k=3 pad=1"},
		{"matmul", "M,K,Ncols", "256,512,1024", "matmul m=256 k=512 n=1024"},
	} {
		for _, machine := range []string{"m1", "m1max", "m1-linux"} {
			write(t, "rows.csv", "id,machine,op,latency_us,"+tc.columns+"\na,"+machine+","+tc.op+",1000,"+tc.row+"\n")
			var doc struct {
				Rows []struct {
					Model float64 `json:"model_us"`
				}
			}
			readJSON(t, &doc, "accuracy", "--csv", "rows.csv", "--rows", "--json")
			if len(doc.Rows) != 1 {
				t.Fatalf("%s: %d rows", tc.op, len(doc.Rows))
			}
			want := runCall(t, append(append([]string{"layer"}, strings.Fields(tc.layer)...), "--timing-only", "--machine", machine)...)
			if got := 1e3 * doc.Rows[0].Model; math.Abs(got-want.wall) > 1e-8*want.wall {
				t.Errorf("%s on %s: accuracy has %v ns, layer %v ns", tc.op, machine, got, want.wall)
			}
		}
	}
}
