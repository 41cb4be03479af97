package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"anesim/hw"
	"anesim/internal/report"
)

func TestAccuracy(t *testing.T) {
	out, errs, code := invoke("accuracy", "--rows")
	if code != exitDone || errs != "" {
		t.Fatalf("exit %d: %s", code, errs)
	}
	for _, want := range []string{
		"107 rows modelled, 23 not", "latency by tier", "T0+T1", "latency by operation", "latency by the roofline",
		"unseen shape", "latency by state", "cold, sustained", "matmul+conv+decode",
		"measurements inside their interval, with the row's session left out of the fit", `row r0173: operation "wake" is not modelled`,
		"r0003    T2        matmul     m1  macos-air/22b6e4fa   cold       4,961         4,920",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

func TestAccuracyJSON(t *testing.T) {
	out, errs, code := invoke("accuracy", "--json")
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	var got struct {
		Schema int
		Rows   []struct {
			ID         string
			MeasuredUs float64 `json:"measured_us"`
			ModelUs    float64 `json:"model_us"`
			Low        float64 `json:"model_low_us"`
			High       float64 `json:"model_high_us"`
			Rows       int     `json:"interval_rows"`
			ErrorPct   float64 `json:"error_pct"`
		}
		Coverage map[string]map[string]struct {
			N, Holds int
			Share    float64
		}
		Summary map[string]json.RawMessage
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if got.Schema != report.Schema || len(got.Rows) != 107 || got.Rows[0].ID != "r0001" || got.Rows[0].MeasuredUs != 331.667 || got.Rows[0].ModelUs <= 0 {
		t.Errorf("%+v", got)
	}
	for _, r := range got.Rows {
		if !(r.Low < r.High) || r.Low > 1.2*r.ModelUs || r.High < 0.8*r.ModelUs || r.Rows < 8 {
			t.Errorf("%s: %v us in %v to %v, of %d rows", r.ID, r.ModelUs, r.Low, r.High, r.Rows)
		}
	}
	// The interval holds its share of rows that it does not rest on; of those that the
	// engine has most or much of, a row less at most.
	for _, by := range []string{"shape", "session"} {
		if c := got.Coverage[by]["all"]; c.N != 107 || c.Share < hw.IntervalShare || c.Share > hw.IntervalShare+0.1 {
			t.Errorf("%s left out: %+v", by, c)
		}
		if c := got.Coverage[by]["T0+T1"]; c.N != 56 || float64(c.Holds+1) < hw.IntervalShare*float64(c.N) {
			t.Errorf("%s left out, T0+T1: %+v", by, c)
		}
	}
	for kind, c := range got.Coverage["engine"] {
		if c.N < 8 || c.Share < hw.IntervalShare {
			t.Errorf("intervals of the engine's time, %s: %+v", kind, c)
		}
	}
	var s struct{ N int }
	if err := json.Unmarshal(got.Summary["T0"], &s); err != nil || s.N != 28 {
		t.Errorf("T0 %+v: %v", s, err)
	}
	var energy map[string]struct{ N int }
	if err := json.Unmarshal(got.Summary["energy"], &energy); err != nil || energy["matmul"].N != 19 {
		t.Errorf("energy %+v: %v", energy, err)
	}
}

// The pages hold every table and row, and a point of a figure for every row with a time.
func TestAccuracyPages(t *testing.T) {
	dir := t.TempDir()
	html, md := filepath.Join(dir, "a.html"), filepath.Join(dir, "a.md")
	if out, errs, code := invoke("accuracy", "--html", html, "--md", md); code != exitDone || out != "" {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
	read := func(name string) string {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	page, text := read(html), read(md)
	for _, want := range []string{"Latency by tier", "Latency by state", "r0003", "cold call", "session left out: median", "ANEForge roofline-apple-m1-MacBookAir10_1"} {
		if !strings.Contains(page, want) || !strings.Contains(text, want) {
			t.Errorf("no %q", want)
		}
	}
	const widths = 2 // of the page's drawings
	if n := strings.Count(page, "<circle"); n != widths*107 || !strings.Contains(text, "](a-times.svg)") || !strings.Contains(text, "](a-errors.svg)") {
		t.Error("figures are missing")
	}
	for _, name := range []string{"a-times.svg", "a-errors.svg"} {
		figure := read(filepath.Join(dir, name))
		if n := strings.Count(figure, "<circle"); n != 107 || !strings.Contains(figure, "macos-air/22b6e4fa") || !strings.Contains(figure, "measured") {
			t.Errorf("%s: %d points", name, n)
		}
	}
	rows := filepath.Join(dir, "rows.csv")
	if err := os.WriteFile(rows, []byte("op,latency_us\nmodel,1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--md", rows}, {"--html", filepath.Join(dir, "b.html")}} { // its input; nothing to draw
		if _, errs, code := invoke(append([]string{"accuracy", "--csv", rows}, args...)...); code == exitDone || strings.Count(errs, "\n") != 1 {
			t.Errorf("%q: exit %d: %s", args, code, errs)
		}
	}
}

// No flag is dropped without a word, and then no file is written.
func TestAccuracyRefusesFlags(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, line := range []string{"--networks --csv r.csv", "--networks --html p.html", "--networks --md p.md", "--networks --json --md p.md", "--json --html p.html", "--json --md p.md"} {
		out, errs, code := invoke(append([]string{"accuracy"}, strings.Fields(line)...)...)
		if code != exitUsage || out != "" || !strings.Contains(errs, "--csv, --html and --md") && !strings.Contains(errs, "mutually exclusive") {
			t.Errorf("%s: exit %d: %s%s; want the flags refused", line, code, out, errs)
		}
	}
	if list, err := os.ReadDir("."); err != nil || len(list) > 0 {
		t.Errorf("wrote %v, %v", list, err)
	}
}

func TestAccuracyNetworks(t *testing.T) {
	if testing.Short() {
		t.Skip("it times all published networks, twice: a run that is not short has them")
	}
	out, errs, code := invoke("accuracy", "--networks", "--rows")
	if code != exitDone || !strings.Contains(out, "MobileOne-S4") || !strings.Contains(out, "\nDenseNet-121\n") {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
	// The report fits a terminal of 80 characters, and explains each column that it shows, and no other.
	for line := range strings.Lines(out) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d characters: %s", n, line)
		}
	}
	head, _, _ := strings.Cut(out[strings.Index(out, "\nnetwork ")+1:], "\n")
	for _, column := range []string{"machine", "engine", "host", "error", "unseen", "network out", "all in memory", "saved", "not modelled"} {
		if shown, explained := strings.Contains(head, " "+column), strings.Contains(out, "\n"+column+"  "); shown != explained {
			t.Errorf("column %s: shown %v, explained %v", column, shown, explained)
		}
	}
	out, _, _ = invoke("accuracy", "--networks", "--json")
	var got struct {
		Networks []struct {
			Network  string
			EngineUs float64 `json:"engine_us"`
			HostUs   float64 `json:"host_us"`
			ModelUs  float64 `json:"model_us"`
			Layers   []struct {
				EngineUs float64 `json:"engine_us"`
			}
		}
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || len(got.Networks) != 27 {
		t.Fatalf("%d networks, %v", len(got.Networks), err)
	}
	for _, n := range got.Networks {
		sum := 0.0
		for _, l := range n.Layers {
			sum += l.EngineUs
		}
		if sum > n.EngineUs*1.001 || sum < n.EngineUs*0.99 || n.EngineUs+n.HostUs < n.ModelUs*0.999 {
			t.Errorf("%s: layers of %v us, engine %v, host %v, in all %v", n.Network, sum, n.EngineUs, n.HostUs, n.ModelUs)
		}
	}
}

func TestAccuracyCSV(t *testing.T) {
	name := filepath.Join(t.TempDir(), "rows.csv")
	rows := "tier,id,chip,machine,op,N,Cin,H,W,Cout,Kh,Kw,stride,groups,M,K,Ncols,depth,weight_format,latency_us,energy_mj,notes\n" +
		"T2-host,a,M1,\"MacBookAir10,1 macOS15.6.1\",matmul,,,,,,,,,,1024,1024,1024,1,fp16,993.333,2.916,\n" +
		"T0-engine,b,M1Pro,any,rms_norm,,,,,,,,,,512,1024,,1,,100,,\n" +
		"T0-engine,c,M1Max,MacBookPro18,mha,8,,,,,,,,,128,512,,1,,700,,\n" +
		"T0-engine,d,M1Max,MacBookPro18,group_norm,,,,,,,,,,4096,4096,,1,,9000,,\n" +
		"T0-engine,e,M1Max,guide,chain_matmul_slope,,,,,,,,,,1,512,512,,fp16,10,,per-layer slope\n" +
		"T3-noshape,f,M1,x,model,,,,,,,,,,,,,,,100,,\n"
	if err := os.WriteFile(name, []byte(rows), 0o644); err != nil {
		t.Fatal(err)
	}
	out, errs, code := invoke("accuracy", "--csv", name, "--rows")
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	if !strings.Contains(out, "5 rows modelled, 1 not") || strings.Contains(out, "unseen") || !strings.Contains(out, "measurements inside their interval\n") {
		t.Errorf("%s", out)
	}
	if err := os.WriteFile(name, []byte("op,latency_us,M\nmatmul,1,x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"accuracy", "--csv", name}, {"accuracy", "--csv", name + "x"}, {"accuracy", "x"}} {
		if _, errs, code := invoke(args...); code == exitDone || strings.Count(errs, "\n") != 1 {
			t.Errorf("%v: exit %d: %s", args, code, errs)
		}
	}
}

// A host adds to the wall time and to nothing else.
func TestHost(t *testing.T) {
	total := func(args ...string) (r struct {
		Host  string
		Total report.Total
	}) {
		out, errs, code := invoke(append([]string{"run", "--json"}, args...)...)
		if code != exitDone {
			t.Fatalf("exit %d: %s", code, errs)
		}
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	none := total()
	if none.Host != "none" || none.Total.WallNs != none.Total.TimeNs || none.Total.TimeLowNs >= none.Total.TimeNs || none.Total.TimeHighNs <= none.Total.TimeNs {
		t.Errorf("%+v", none)
	}
	for host, floor := range map[string]float64{"linux": 38e3, "macos-air": 160e3, "macos-mbp": 160e3, "macos-max": 160e3, "macos-max-b": 150e3, "macos-guide": 190e3, "iphone12-coreml": 380e3, "iphone12-ios15": 600e3} {
		got := total("--host", host)
		if got.Host != host || float64(got.Total.WallNs-got.Total.TimeNs) < floor || float64(got.Total.WallNs-got.Total.TimeNs) > 1.5*floor {
			t.Errorf("%+v", got)
		}
		got.Host, got.Total.WallNs = none.Host, none.Total.WallNs
		if got != none {
			t.Errorf("%s: %+v, alone %+v", host, got, none)
		}
	}
	twice := total("--host", "linux", "--repeat", "2")
	if w := twice.Total.WallNs - twice.Total.TimeNs; w < 76e3 {
		t.Errorf("two dispatches add %v ns", w)
	}
	if _, errs, code := invoke("run", "--host", "vax"); code != exitUsage || !strings.Contains(errs, `unknown host "vax"; want none, linux`) {
		t.Errorf("exit %d: %s", code, errs)
	}
	for _, tc := range []struct {
		chip, host string
		note       bool
	}{
		{"m1", "iphone12-coreml", true}, {"m1max", "macos-air", true}, {"a14", "linux", true}, {"m1,Clock=1.2e9", "macos-max", true},
		{"a14", "iphone12-coreml", false}, {"a14", "iphone12-ios15", false}, {"m1", "macos-air", false}, {"m1max", "linux", false}, {"a14", "none", false},
	} {
		out, _, code := invoke("run", "--chip", tc.chip, "--host", tc.host)
		if code != exitDone || strings.Contains(out, "no machine is like this") != tc.note {
			t.Errorf("chip %s with host %s: exit %d, want a note: %v\n%s", tc.chip, tc.host, code, tc.note, out)
		}
	}
	out, _, _ := invoke("run", "--host", "macos-air", "--constants")
	if !strings.Contains(out, "of it host macos-air") || !strings.Contains(out, "HostFloor") {
		t.Errorf("%s", out)
	}
}
