package command

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"anesim"
	"anesim/hw/clock"
	"anesim/hw/machine"
	"anesim/internal/report"
)

// Several machines are one table with a row each; one machine is the chip and the host of its row.
func TestMachineTable(t *testing.T) {
	layer := []string{"layer", "conv", "cin=64", "h=28", "w=28", "cout=64", "k=3", "pad=1", "--timing-only"}
	out, errs, code := invoke(append(layer, "--machine", "m1,m1max,iphone12,m2,m4,m5")...)
	if code != exitDone {
		t.Fatal(errs)
	}
	for _, want := range []string{"\nm1 ", "\nm1max ", "\na14 ", "\nm2 ", "\nm5 ", "modelled", " scaled ", "80% of calls"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	wall := func(flags ...string) (r report.Run) {
		t.Helper()
		out, errs, code := invoke(append(append(layer, "--json"), flags...)...)
		if code != exitDone {
			t.Fatal(errs)
		}
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	if one, two := wall("--machine", "m1max"), wall("--chip", "m1max", "--host", "macos-max"); one.Total.WallNs != two.Total.WallNs || one.Total.WallNs == 0 {
		t.Errorf("%v on the machine, %v with its chip and host", one.Total.WallNs, two.Total.WallNs)
	}
	// A call on a host has the interval of calls on its machine, not that of the engine's part alone.
	interval := func(flags ...string) string {
		out, _, _ := invoke(append(layer, flags...)...)
		_, out, _ = strings.Cut(out, "(80%: ")
		out, _, _ = strings.Cut(out, ")")
		return out
	}
	if one, two := interval("--machine", "m1"), interval("--host", "macos-air"); one != two || one == "" {
		t.Errorf("%q on the machine, %q on its host", one, two)
	}
	// Constants that follow the name of a machine are those of its chip, also at another clock.
	const changed = "m1max,LaneRate=2e9,Clock=1e9"
	if one, two := wall("--machine", changed), wall("--chip", changed, "--host", "macos-max"); one.Total.WallNs != two.Total.WallNs || one.Total.TimeNs == wall("--machine", "m1max").Total.TimeNs {
		t.Errorf("%v on the changed machine, %v with its chip and host", one.Total.WallNs, two.Total.WallNs)
	}
	if one, two := wall("--machine", "m1max,ReadRate=5e9", "--clock", "300"), wall("--chip", "m1max,ReadRate=5e9", "--clock", "300"); one.Total.TimeNs != two.Total.TimeNs {
		t.Errorf("%v on the slow machine, %v on its chip", one.Total.TimeNs, two.Total.TimeNs)
	}
	if out, errs, code := invoke(append(layer, "--machine", "m1,m4,LaneRate=5e9,m5")...); code != exitDone || strings.Count(out, "\nm") != 4 || !strings.Contains(out, "\nm4,LaneRate=5e9 ") {
		t.Errorf("exit %d: %s%s", code, errs, out)
	}
	if full, slow := wall("--machine", "m1max"), wall("--machine", "m1max", "--clock", "300"); slow.Total.TimeNs < 3*full.Total.TimeNs {
		t.Errorf("%v at 300 MHz, %v at the highest state", slow.Total.TimeNs, full.Total.TimeNs)
	}
}

// A summary of several machines is the summary of each, with its own command to explain it.
func TestSummaryOfSeveralMachines(t *testing.T) {
	layer := []string{"layer", "conv", "cin=64", "h=28", "w=28", "cout=64", "k=3", "pad=1", "--timing-only", "--summary"}
	for _, command := range [][]string{layer, {"model", exampleNetwork("picture.mil"), "--summary"}} {
		var want []string
		for _, name := range []string{"a14", "m4,LaneRate=5e9"} {
			out, errs, code := invoke(append(command, "--machine", name)...)
			if code != exitDone || !strings.HasSuffix(out, " --machine "+name+"\n") {
				t.Fatalf("exit %d: %s%s", code, errs, out)
			}
			want = append(want, out)
		}
		out, errs, code := invoke(append(command, "--machine", "a14,m4,LaneRate=5e9")...)
		if code != exitDone || out != strings.Join(want, "\n") {
			t.Errorf("exit %d: %s%s\nwant\n%s", code, errs, out, strings.Join(want, "\n"))
		}
	}
	for _, flag := range []string{"--l2", "--top=3", "--strict", "--values", "--emit=x.hwx"} {
		if _, errs, code := invoke("model", exampleNetwork("picture.mil"), "--machine", "m1,m4", flag); code != exitUsage || !strings.Contains(errs, strings.Split(flag, "=")[0]) {
			t.Errorf("%s: exit %d: %s", flag, code, errs)
		}
	}
}

// The table of several machines fits 80 characters and explains the columns that it shows.
func TestMachineTableFits(t *testing.T) {
	out, errs, code := invoke("model", exampleNetwork("picture.mil"), "--machine", "m1,m1max-linux,m4,LaneRate=5e9,TotalRate=7e10,a14,m5pro")
	if code != exitDone {
		t.Fatal(errs)
	}
	lines := strings.Split(out, "\n")
	for _, line := range lines {
		if utf8.RuneCountInString(line) > 80 {
			t.Errorf("more than 80 characters: %s", line)
		}
	}
	for _, line := range lines[2:] {
		if name, _, ok := strings.Cut(line, ": "); ok && name != "scaled" && !strings.Contains(lines[1], name) {
			t.Errorf("%q is explained and not shown:\n%s", name, out)
		}
	}
}

func TestMachineErrors(t *testing.T) {
	for _, tc := range []struct{ flags, want string }{
		{"--machine m1mx", `unknown machine "m1mx"`},
		{"--machine m1 --chip m1max", "mutually exclusive"},
		{"--machine m1 --host linux", "mutually exclusive"},
		{"--machine m1max --clock 301", "no clock state of 301 MHz; want one of 300"},
		{"--chip m1 --clock 1428", "no clock state of 1428 MHz"},
		{"--machine m1,m2 --json", "several machines print one table"},
		{"--machine m1,m2 --constants", "several machines print one table"},
		{"--machine m1,Foo=3", "--machine: Foo: unknown constant"},
		{"--machine m1,LaneRate=fast", `--machine: "LaneRate=fast": want CONSTANT=NUMBER`},
		{"--machine LaneRate=5e9", "unknown machine"},
		{"--machine m1,,m2", `--machine "m1,,m2": a name is missing`},
		{"--machine m1,", `--machine "m1,": a name is missing`},
	} {
		if _, errs, code := invoke(append([]string{"run", "--timing-only"}, strings.Fields(tc.flags)...)...); code != exitUsage || !strings.Contains(errs, tc.want) {
			t.Errorf("%s: exit %d: %s", tc.flags, code, errs)
		}
	}
	// A mixture runs, with a remark.
	if out, _, code := invoke("run", "--timing-only", "--chip", "m1max", "--host", "macos-air"); code != exitDone || !strings.Contains(out, "no machine is like this") {
		t.Errorf("exit %d: %s", code, out)
	}
}

// Reports lead with a call: its least time without a host, and with one its time, interval and first
// call after a pause.
func TestReportsLeadWithACall(t *testing.T) {
	second := func(args ...string) string {
		t.Helper()
		out, errs, code := invoke(args...)
		if code != exitDone {
			t.Fatal(errs)
		}
		return out
	}
	file := exampleNetwork("picture.mil")
	if out := second("model", file); strings.Contains(out, "calls/s") || !strings.Contains(strings.Join(strings.SplitN(out, "\n", 3)[:2], "\n"), "a call: at least ") {
		t.Error(out)
	}
	if out := second("model", file, "--machine", "m1"); !strings.Contains(out, "\na call: ") || !strings.Contains(out, "calls/s") || !strings.Contains(out, "first call after a pause") {
		t.Error(out)
	}
	if out := second("explain", "--layer", "add c=64 h=4 w=4", "--machine", "m1"); !strings.Contains(out, "of it the host\n  no change to the model saves more than") {
		t.Error(out)
	}
	// Of later machines, the energies of parts are not known, and neither is what a change saves of them.
	if out := second("explain", "--layer", "add c=64 h=64 w=64", "--machine", "m4"); strings.Contains(out, "J (") || strings.Contains(out, "J,") {
		t.Error(out)
	}
	if out := second("run", "--timing-only", "--machine", "m4"); !strings.Contains(strings.Join(strings.Fields(out), " "), "programs of this generation are not modelled") {
		t.Error(out)
	}
}

// On every machine, one interval of the engine is in the report, its summary and its JSON, as the sum of those of the
// descriptors, and that of a call holds it with the host added.
func TestIntervalsOfEveryMachine(t *testing.T) {
	file := exampleNetwork("picture.mil")
	model, err := anesim.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range machine.Machines() {
		res, err := model.Run(t.Context(), anesim.Options{Chip: m.Chip, Host: m.Host, Machine: &m})
		if err != nil {
			t.Fatal(err)
		}
		engine, e := res.Time()
		call, c := res.Call(), res.CallBounds()
		host := call - engine
		if !(0 < e.Low && e.Low < engine && engine < e.High && c.Low < call && call < c.High) {
			t.Errorf("%s: engine %v in %+v, a call %v in %+v", m.Name, engine, e, call, c)
		}
		if tiny := 1e-9 * call; c.Low > e.Low+host+tiny || c.High < e.High+host-tiny {
			t.Errorf("%s: the interval of a call, %v to %v, does not hold that of the engine, %v to %v, with %v of the host", m.Name, c.Low, c.High, e.Low, e.High, host)
		}
		if x := &m.Chip.Spread; m.Scaled && (e.Rows != x.Rows || e.High > engine*clock.Nanoseconds(x.High*1.001) || e.High < engine*clock.Nanoseconds(x.High*0.999)) {
			t.Errorf("%s: %+v, want that of calls on later machines, %+v of %v", m.Name, e, *x, engine)
		}
		var d report.Network
		out, errs, code := invoke("model", file, "--machine", m.Name, "--json")
		if code != exitDone {
			t.Fatal(errs)
		}
		if err := json.Unmarshal([]byte(out), &d); err != nil {
			t.Fatal(err)
		}
		if d.Total.TimeLowNs != e.Low || d.Total.TimeHighNs != e.High || d.Total.Rows != e.Rows {
			t.Errorf("%s: %v to %v in JSON, want %v to %v", m.Name, d.Total.TimeLowNs, d.Total.TimeHighNs, e.Low, e.High)
		}
		var low, high clock.Nanoseconds
		for i := range d.Layers {
			low, high = low+d.Layers[i].Total.TimeLowNs, high+d.Layers[i].Total.TimeHighNs
		}
		if math.Abs(float64(low/e.Low-1)) > 1e-9 || math.Abs(float64(high/e.High-1)) > 1e-9 {
			t.Errorf("%s: layers of %v to %v, in all %v to %v", m.Name, low, high, e.Low, e.High)
		}
		// The energy of a later machine is known of a call alone; its interval holds it.
		energy, least, most := res.CallEnergy()
		if m.Scaled != (least > 0) || m.Scaled && !(least < energy && energy < most) || d.Total.CallLowNJ != least || d.Total.CallHighNJ != most {
			t.Errorf("%s: energy %v in %v to %v, in JSON %v to %v", m.Name, energy, least, most, d.Total.CallLowNJ, d.Total.CallHighNJ)
		}
		summary, _, _ := invoke("model", file, "--machine", m.Name, "--summary")
		if want := fmt.Sprintf("\n  energy   %v a call (80%%: %v to %v)\n", report.EnergyText(energy), report.EnergyText(least), report.EnergyText(most)); strings.Contains(summary, want) != m.Scaled || strings.Count(summary, "J") != 3 && m.Scaled {
			t.Errorf("%s: %q in the summary: want %v\n%s", m.Name, want, m.Scaled, summary)
		}
		for _, want := range []string{
			fmt.Sprintf("%v on the engine (80%%: %v to %v)", report.TimeText(engine), report.TimeText(e.Low), report.TimeText(e.High)),
			fmt.Sprintf("(80%%: %v to %v)", report.TimeText(c.Low), report.TimeText(c.High)),
		} {
			if !strings.Contains(summary, want) {
				t.Errorf("%s: no %q in\n%s", m.Name, want, summary)
			}
		}
		if out, _, _ := invoke("explain", file, "--machine", m.Name); !strings.Contains(out, fmt.Sprintf("(80%%: %s to %s)", report.TimeAs(c.Low, call), report.TimeAs(c.High, call))) {
			t.Errorf("%s: no %v to %v in\n%s", m.Name, c.Low, c.High, out)
		}
		full, _, _ := invoke("model", file, "--machine", m.Name)
		if want := fmt.Sprintf("%v of engine time (%s to %s)", report.TimeText(engine), report.TimeAs(e.Low, engine), report.TimeAs(e.High, engine)); strings.Count(full, want) < 2 {
			t.Errorf("%s: no two %q in\n%s", m.Name, want, full)
		}
	}
}

// The list of later machines' rows has every row and its interval, and the table counts them.
func TestAccuracyOfMachines(t *testing.T) {
	out, errs, code := invoke("accuracy", "--machines", "--json")
	if code != exitDone {
		t.Fatal(errs)
	}
	var d struct {
		Machines []struct {
			Machine string
			N       int
		}
		Rows []struct {
			Machine string
			Low     float64 `json:"model_low_us"`
			Model   float64 `json:"model_us"`
			High    float64 `json:"model_high_us"`
		}
	}
	if err := json.Unmarshal([]byte(out), &d); err != nil {
		t.Fatal(err)
	}
	counts := make(map[string]int)
	for _, r := range d.Rows {
		counts[r.Machine]++
		counts["all"]++
		if !(0 < r.Low && r.Low <= r.Model && r.Model <= r.High) {
			t.Errorf("%+v", r)
		}
	}
	for _, m := range d.Machines {
		if m.N != counts[m.Machine] {
			t.Errorf("%s: %d rows, want %d", m.Machine, m.N, counts[m.Machine])
		}
	}
	if len(d.Rows) < 300 {
		t.Errorf("%d rows", len(d.Rows))
	}
}

// Commands that compare or draw runs take a machine, and its figures are those of run on the machine.
func TestMachineOfOtherCommands(t *testing.T) {
	t.Chdir(t.TempDir())
	must := func(want string, args ...string) string {
		t.Helper()
		out, errs, code := invoke(args...)
		if code != exitDone || !strings.Contains(out, want) {
			t.Fatalf("%q: exit %d, no %q in %s%s", args, code, want, out, errs)
		}
		return out
	}
	for name, channels := range map[string]string{"a.hwx": "64", "b.hwx": "128"} {
		must("", "layer", "add", "c="+channels, "h=64", "w=64", "--timing-only", "--emit", name)
	}
	var r report.Run
	if err := json.Unmarshal([]byte(must("", "run", "a.hwx", "--timing-only", "--machine", "m1max", "--json")), &r); err != nil {
		t.Fatal(err)
	}
	must("a call: ", "diff", "a.hwx", "b.hwx", "--machine", "m1")
	if out := must("on a MacBook Pro (M1 Max)", "diff", "a.hwx", "b.hwx", "--machine", "m1max"); !strings.Contains(out, r.Total.WallNs.String()+" -> ") {
		t.Errorf("no call of %v in\n%s", r.Total.WallNs, out)
	}
	out := must("programs of this generation are not modelled", "diff", "a.hwx", "b.hwx", "--machine", "m4")
	for line := range strings.Lines(out) { // only the energy of a call is known
		if strings.Contains(line, "J") && !strings.HasPrefix(line, "energy of a call: ") {
			t.Errorf("an energy: %s", line)
		}
	}
	if !strings.Contains(out, "\nenergy of a call: ") {
		t.Errorf("no energy of a call: %s", out)
	}
	must("wrote 1 model", "check", "--baseline", "base.json", "--update", "--machine", "m4", "a.hwx")
	must("ok", "check", "--baseline", "base.json", "--machine", "m4", "a.hwx")
	if out, _, code := invoke("check", "--baseline", "base.json", "--machine", "m1", "a.hwx"); code != exitFailed {
		t.Errorf("a baseline of another machine: exit %d: %s", code, out)
	}
	must("wrote line.svg", "plot", "timeline", "a.hwx", "--machine", "m1max", "-o", "line.svg")
	times := must("m1max", "sweep", "add", "c=64", "h=64", "w=64", "--machine", "m1max")
	if slow := must("", "sweep", "add", "c=64", "h=64", "w=64", "--machine", "m1max", "--clock", "300"); slow == times {
		t.Errorf("the clock makes no difference:\n%s", slow)
	}
	for _, args := range [][]string{
		{"diff", "a.hwx", "b.hwx", "--machine", "m1,m2"}, {"check", "--baseline", "base.json", "a.hwx", "--machine", "m1,m2"},
		{"plot", "timeline", "a.hwx", "-o", "x.svg", "--machine", "m1,m2"}, {"sweep", "add", "c=64", "--machine", "m1,m2"},
		{"explain", "a.hwx", "--machine", "m1,m2"}, {"diff", "a.json", "b.hwx", "--machine", "m1"},
	} {
		if out, errs, code := invoke(args...); code != exitUsage || !strings.Contains(errs, "--machine") {
			t.Errorf("%q: exit %d: %s%s", args, code, out, errs)
		}
	}
}

// Of a machine whose programs are not modelled, reports have the energy of a call with its interval, and no other.
func TestEnergyOfLaterMachines(t *testing.T) {
	file := exampleNetwork("picture.mil")
	for _, args := range [][]string{{"model", file}, {"model", file, "--summary"}, {"run", "--timing-only", "--idle", "10ms"}, {"explain", file}} {
		out, errs, code := invoke(append(args, "--machine", "m5")...)
		if code != exitDone {
			t.Errorf("%q: exit %d: %s%s", args, code, out, errs)
		}
		calls := 0
		for line := range strings.Lines(out) {
			for _, unit := range []string{" nJ", " uJ", " mJ"} {
				if strings.Contains(line, unit+" a call (80%: ") {
					calls++
				} else if strings.Contains(line, unit) {
					t.Errorf("%q: an energy: %q", args, line)
				}
			}
		}
		if want := map[bool]int{true: 0, false: 1}[args[0] == "explain"]; calls != want {
			t.Errorf("%q: %d energies of a call, want %d: %s", args, calls, want, out)
		}
		if out, _, _ := invoke(append(args, "--machine", "m1")...); strings.Contains(out, "J a call (80%") {
			t.Errorf("%q on an M1: %s", args, out)
		}
	}
	for _, args := range [][]string{
		{"sweep", file, "chip.Clock=1e9,2e9", "--pareto", "time,energy"}, {"sweep", file, "--pareto", "power"},
		{"sweep", "optimize", file, "chip.Clock=1e9..2e9", "--least", "energy"}, {"sweep", "optimize", file, "chip.Clock=1e9..2e9", "--within", "power=1"},
	} {
		if out, errs, code := invoke(append(args, "--machine", "m5")...); code != exitUsage || !strings.Contains(errs, "of a MacBook Pro (M5) is not known") {
			t.Errorf("%q: exit %d: %s%s", args, code, out, errs)
		}
	}
	if out, errs, code := invoke("sweep", file, file, "chip.Clock=1e9,2e9", "--machine", "m5", "--pareto", "time,chip.Clock"); code != exitUsage {
		t.Errorf("a program twice: exit %d: %s%s", code, out, errs)
	}
	if out, errs, code := invoke("sweep", file, "add c=64 h=8 w=8", "chip.Clock=1e9,2e9", "--machine", "m5", "--pareto", "time,chip.Clock"); code != exitDone || !strings.Contains(out, ",2 programs,2e+09,") {
		t.Errorf("the front of calls on an M5: exit %d: %s%s", code, out, errs)
	}
}
