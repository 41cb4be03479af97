package command

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"anesim/firmware/engine"
	"anesim/hw"
	"anesim/hw/clock"
	"anesim/internal/report"
)

// A wallReport is what run, layer and model have in common.
type wallReport struct {
	Descriptors []struct {
		TimeNs    float64 `json:"time_ns"`
		WorkingNs float64 `json:"working_ns"`
		EnergyNJ  float64 `json:"energy_nj"`
		PowerW    float64 `json:"power_w"`
	} `json:"descriptors"`
	Total wallTotal `json:"total"`
	Power []struct {
		AtNs     float64 `json:"at_ns"`
		ForNs    float64 `json:"for_ns"`
		Watts    float64 `json:"watts"`
		EnergyNJ float64 `json:"energy_nj"`
		What     string  `json:"what"`
	} `json:"power"`
}

type wallTotal struct {
	Cycles       uint64  `json:"cycles"`
	TimeNs       float64 `json:"time_ns"`
	EnergyNJ     float64 `json:"energy_nj"`
	WallNs       float64 `json:"wall_ns"`
	IdleNs       float64 `json:"idle_ns"`
	IdleNJ       float64 `json:"idle_energy_nj"`
	WakeNs       float64 `json:"wake_ns"`
	WakeNJ       float64 `json:"wake_energy_nj"`
	HostNJ       float64 `json:"host_energy_nj"`
	WallEnergyNJ float64 `json:"wall_energy_nj"`
	PeakW        float64 `json:"peak_w"`
}

func wall(t *testing.T, want int, args ...string) (r wallReport) {
	t.Helper()
	out, errs, code := invoke(append(args, "--json")...)
	if code != want {
		t.Fatalf("anesim %q: exit %d: %s", args, code, errs)
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// sound fails the test unless the spans cover the wall time exactly once and their energies sum to
// that of the report.
func (r *wallReport) sound(t *testing.T, args []string) {
	t.Helper()
	near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b)) }
	at, energy, peak := 0.0, 0.0, 0.0
	idle, wake := 0.0, 0.0
	for i, s := range r.Power {
		if !near(s.AtNs, at) || s.ForNs < 0 || s.What == "" || !near(s.Watts*s.ForNs, s.EnergyNJ) && s.ForNs > 0 {
			t.Errorf("%q: span %d is %+v, the one before ends at %v ns", args, i, s, at)
		}
		at += s.ForNs
		peak = max(peak, s.Watts)
		if energy += float64(s.Watts * s.ForNs); s.ForNs == 0 {
			energy += s.EnergyNJ
		}
		switch s.What {
		case "idle", "rails off":
			idle += s.ForNs
		case "wake":
			wake += s.ForNs
		}
	}
	x := &r.Total
	if !near(at, x.WallNs) || !near(energy, x.WallEnergyNJ) || peak != x.PeakW || !near(idle, x.IdleNs) || !near(wake, x.WakeNs) {
		t.Errorf("%q: spans of %v ns, %v nJ, %v ns idle, %v ns waking, highest %v W; total %+v", args, at, energy, idle, wake, peak, x)
	}
	if sum := x.EnergyNJ + x.HostNJ + x.IdleNJ + x.WakeNJ; !near(sum, x.WallEnergyNJ) {
		t.Errorf("%q: parts of %v nJ, total %v", args, sum, x.WallEnergyNJ)
	}
	for i, d := range r.Descriptors {
		if !near(d.PowerW*d.WorkingNs, d.EnergyNJ) || d.PowerW <= 0 {
			t.Errorf("%q: descriptor %d: %+v", args, i, d)
		}
	}
}

func TestPowerCoversTheWall(t *testing.T) {
	cut := writeFile(t, "net.yaml", []byte("inputs: {x: {c: 4, h: 8, w: 8}}\nlayers:\n- {name: a, op: add, second: scalar, value: 1}\n- {name: b, op: conv, cout: 4}\n"+
		"- {name: flat, op: reshape, h: 16, w: 16}\n- {name: d, op: relu}\n"))
	runs := [][]string{
		{"run"}, {"run", example(t, "concat"), "--chip", "m1max"}, {"layer", "conv", "cin=64", "h=14", "w=14", "cout=64", "k=3", "pad=1"},
		{"model", cut}, {"model", cut, "--values"}, {"model", exampleNetwork("transformer.yaml")},
	}
	for _, args := range runs {
		for _, more := range []string{
			"", "--repeat 3", "--host macos-air", "--host macos-mbp --repeat 2", "--idle 30ms", "--idle 150ms --repeat 3", "--idle 10s --host linux --repeat 2",
		} {
			line := append(args[:len(args):len(args)], strings.Fields(more)...)
			r := wall(t, exitDone, line...)
			r.sound(t, line)
		}
	}
	// A fault ends the dispatches, and what it cut short is in no total of a network's.
	for _, args := range [][]string{
		{"run", "--gate-tiles", "0-31", "--host", "linux", "--repeat", "3", "--idle", "1s"},
		{"model", cut, "--gate-tiles", "0-31", "--host", "linux", "--repeat", "3", "--idle", "1s"},
	} {
		r := wall(t, exitFailed, args...)
		r.sound(t, args)
	}
}

// An idle gap is wall time and energy of its own: the engine's numbers stay.
func TestIdle(t *testing.T) {
	const ms = 1e6
	chip := hw.M1()
	waiting := func(t float64) float64 { return float64(chip.Waiting(16, clock.Nanoseconds(t))) }
	plain := wall(t, exitDone, "run", "--repeat", "2")
	if x := &plain.Total; x.IdleNs != 0 || x.WakeNs != 0 || x.WallNs != x.TimeNs || x.WallEnergyNJ != x.EnergyNJ {
		t.Errorf("without a gap: %+v", x)
	}
	for _, tc := range []struct {
		gap        string
		on, wakeNs float64
	}{
		{"0s", 0, 0}, {"20ms", 20 * ms, 0.1 * ms}, {"100ms", 100 * ms, 0.5 * ms}, {"4.9s", 100 * ms, 0.5 * ms}, {"5s", 100 * ms, 260 * ms},
	} {
		gap, err := time.ParseDuration(tc.gap)
		if err != nil {
			t.Fatal(err)
		}
		r := wall(t, exitDone, "run", "--repeat", "2", "--idle", tc.gap)
		x := &r.Total
		if x.Cycles != plain.Total.Cycles || x.TimeNs != plain.Total.TimeNs || x.EnergyNJ != plain.Total.EnergyNJ {
			t.Errorf("--idle %s: the engine's part is %+v, was %+v", tc.gap, x, plain.Total)
		}
		for _, c := range [][2]float64{
			{x.IdleNs, 2 * float64(gap)}, {x.WakeNs, 2 * tc.wakeNs}, {x.IdleNJ, 2 * waiting(tc.on)}, {x.WakeNJ, 2 * waiting(tc.wakeNs)},
			{x.WallNs, x.TimeNs + 2*(float64(gap)+tc.wakeNs)},
		} {
			if math.Abs(c[0]-c[1]) > 1e-9*max(1, c[1]) {
				t.Errorf("--idle %s: %g, want %g: %+v", tc.gap, c[0], c[1], x)
			}
		}
	}
}

// A network of several programs idles before the first of them alone.
func TestModelIdlesOnceARepeat(t *testing.T) {
	cut := writeFile(t, "net.yaml", []byte("inputs: {x: {c: 4, h: 8, w: 8}}\nlayers:\n- {name: a, op: relu}\n"+
		"- {name: b, op: conv, cout: 4, k: 33, pad: same}\n- {name: d, op: relu}\n"))
	r := wall(t, exitDone, "model", cut, "--repeat", "2", "--idle", "1s", "--host", "linux")
	var got []string
	for _, s := range r.Power {
		got = append(got, s.What)
	}
	once := "idle|rails off|wake|host|a: descriptor 0: activation|host|d: descriptor 0: activation"
	if s := strings.Join(got, "|"); s != once+"|"+once {
		t.Errorf("spans %s", s)
	}
}

// The line of the table is there with --idle and not without.
func TestIdleInTheTable(t *testing.T) {
	for _, args := range [][]string{{"run"}, {"layer", "relu", "c=4"}, {"model", filepath.Join("..", "..", "examples", "transformer.yaml")}} {
		out, _, _ := invoke(args...)
		if strings.Contains(out, "idle:") || strings.Contains(out, "wall:") {
			t.Errorf("%q without a gap:\n%s", args, out)
		}
		out, _, _ = invoke(append(args, "--idle", "150ms", "--host", "macos-air")...)
		air, err := engine.HostByName("macos-air")
		if err != nil {
			t.Fatal(err)
		}
		chip, engines := hw.M1().Holding(air.Hold), 16
		if args[0] == "layer" {
			engines = 4 // of four channels
		}
		if want := fmt.Sprintf("\nidle: 150 ms, %s (rails off after 100 ms of a gap); wake: 500 us, %s; in all ",
			report.EnergyText(chip.Waiting(engines, 100e6)), report.EnergyText(chip.Waiting(engines, 0.5e6))); !strings.Contains(out, want) ||
			strings.Count(out, "\nwall: ") != 1 {
			t.Errorf("%q with a gap:\n%s", args, out)
		}
		out, _, _ = invoke(append(args, "--idle", "150ms")...)
		if !strings.Contains(out, "\nwall: 15") || strings.Contains(out, "of it host") {
			t.Errorf("%q with a gap and no host:\n%s", args, out)
		}
	}
}

func TestIdleErrors(t *testing.T) {
	for _, command := range []string{"run", "layer relu c=4", "model net.yaml"} {
		for value, says := range map[string]string{
			"-1s": "--idle -1s: want 0 or more", "5": "such as 33ms", "soon": "such as 33ms", "": "such as 33ms", "9999999h": "at most 2500000h",
		} {
			_, errs, code := invoke(append(strings.Fields(command), "--idle="+value)...)
			if code != exitUsage || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, says) {
				t.Errorf("%s --idle=%s: exit %d: %s", command, value, code, errs)
			}
		}
	}
}

func TestCSVHasThePower(t *testing.T) {
	out, _, code := invoke("run", "--csv")
	if code != exitDone {
		t.Fatal(code)
	}
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	last := slices.Index(rows[0], "power_w")
	if last < 0 {
		t.Fatalf("no power_w in %q", rows[0])
	}
	for i, d := range wall(t, exitDone, "run").Descriptors {
		if w, err := strconv.ParseFloat(rows[i+1][last], 64); err != nil || math.Abs(w-d.PowerW) > 1e-6 {
			t.Errorf("row %d has %s W, the JSON %v", i, rows[i+1][last], d.PowerW)
		}
	}
}

// A budget costs cycles that the table and the document have as throttled.
func TestPowerBudgetFlag(t *testing.T) {
	words := []string{"layer", "conv", "cin=64", "h=28", "w=28", "cout=64", "k=3", "pad=same"}
	out, errs, code := invoke(append(words, "--power-budget", "2")...)
	if code != exitDone || !strings.Contains(out, "throttle") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	if _, errs, code := invoke(append(words, "--power-budget", "0.3")...); code != exitFailed || !strings.Contains(errs, "--power-budget: budget is 0.3 W") {
		t.Errorf("exit %d: %s", code, errs)
	}
}
