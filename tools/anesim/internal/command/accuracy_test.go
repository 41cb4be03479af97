package command

import (
	"anesim"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAccuracy(t *testing.T) {
	out, errs, code := invoke("accuracy", "--rows")
	if code != exitDone || errs != "" {
		t.Fatalf("exit %d: %s", code, errs)
	}
	for _, want := range []string{
		"102 rows modelled, 23 not", "latency by tier", "T0+T1", "latency by operation", "latency by the roofline",
		"the row's shape left out of the fit", "matmul+conv+decode", `row r0173: operation "wake" is not modelled`,
		"r0177    T0   elementwise  m1max        linux",
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
			ErrorPct   float64 `json:"error_pct"`
		}
		Summary map[string]json.RawMessage
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if got.Schema != anesim.Schema || len(got.Rows) != 102 || got.Rows[0].ID != "r0002" || got.Rows[0].MeasuredUs != 993.333 || got.Rows[0].ModelUs <= 0 {
		t.Errorf("%+v", got)
	}
	var s jsonSummary
	if err := json.Unmarshal(got.Summary["T0"], &s); err != nil || s.N != 24 {
		t.Errorf("T0 %+v: %v", s, err)
	}
	var energy jsonSummaries
	if err := json.Unmarshal(got.Summary["energy"], &energy); err != nil || energy["matmul"].N != 15 {
		t.Errorf("energy %+v: %v", energy, err)
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
	if !strings.Contains(out, "5 rows modelled, 1 not") || strings.Contains(out, "left out") {
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
		Total anesim.TotalDocument
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
	for host, floor := range map[string]float64{"linux": 38e3, "macos-air": 160e3, "macos-mbp": 160e3, "macos-max": 160e3, "macos-max-b": 150e3, "macos-guide": 190e3} {
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
	if _, errs, code := invoke("run", "--host", "vax"); code != exitUsage || !strings.Contains(errs, `host "vax" is none of [none linux`) {
		t.Errorf("exit %d: %s", code, errs)
	}
	out, _, _ := invoke("run", "--host", "macos-air", "--constants")
	if !strings.Contains(out, "of it host macos-air") || !strings.Contains(out, "HostFloor") {
		t.Errorf("%s", out)
	}
}

// The README's rows are what the command prints.
func TestReadmeAccuracy(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	out, _, _ := invoke("accuracy", "--json")
	var got struct {
		Summary map[string]json.RawMessage
		LeftOut map[string]jsonSummaries `json:"left_out"`
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	row := func(now, left jsonSummary) string {
		return fmt.Sprintf("| %d rows | median error %.1f %%, p90 %.0f %%; with the row's shape left out of the fit %.1f %%, %.0f %% |",
			now.N, now.Median, now.P90, left.Median, left.P90)
	}
	summary := func(name string) (s jsonSummary) {
		if err := json.Unmarshal(got.Summary[name], &s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	var energy jsonSummaries
	if err := json.Unmarshal(got.Summary["energy"], &energy); err != nil {
		t.Fatal(err)
	}
	const main = "matmul+conv+decode"
	for what, want := range map[string]string{
		"latency, T0 and T1": row(summary("T0+T1"), got.LeftOut["latency"]["T0+T1"]),
		"latency, all":       row(summary("all"), got.LeftOut["latency"]["all"]),
		"energy":             row(energy[main], got.LeftOut["energy"][main]),
	} {
		if !strings.Contains(string(readme), want) {
			t.Errorf("%s: the README has no row that ends in\n%s", what, want)
		}
	}
}
