package command

import (
	"encoding/json"
	"strings"
	"testing"

	"anesim/internal/explain"
	"anesim/internal/report"
)

// Reports mark the time of work that no measured row covers, in the row, in one line and in
// JSON, and say nothing where rows cover all of it.
func TestUnmeasuredWorkIsMarked(t *testing.T) {
	yaml := func(op string) string {
		return writeFile(t, strings.Fields(op)[0]+".yaml", []byte("inputs: {x: {c: 64, h: 28, w: 28}}\nlayers:\n- {name: only, op: "+op+"}\n"))
	}
	for _, tc := range []struct {
		args     []string
		measured bool
		row      string // what the row ends or begins with
	}{
		{[]string{"layer", "relu", "c=64", "h=28", "w=28", "--timing-only"}, false, "%*"},
		{[]string{"layer", "conv", "cin=64", "h=28", "w=28", "cout=64", "k=1", "--timing-only"}, true, ""},
		{[]string{"run", example(t, "add"), "--timing-only"}, false, "%*"},
		{[]string{"model", yaml("relu")}, false, "\nonly *"},
		{[]string{"model", yaml("conv, cout: 64, k: 1")}, true, ""},
		{[]string{"explain", yaml("relu")}, false, "\nonly *"},
		{[]string{"explain", yaml("conv, cout: 64, k: 1")}, true, ""},
	} {
		out, errs, code := invoke(tc.args...)
		if code != exitDone {
			t.Fatalf("%q: exit %d: %s", tc.args, code, errs)
		}
		said := strings.Contains(out, "\n"+report.UnmeasuredMark+" 100.0% of the time is unmeasured work")
		if said == tc.measured || !strings.Contains(out, tc.row) {
			t.Errorf("%q says that no row covers the work: %v, want %v and %q in:\n%s", tc.args, said, !tc.measured, tc.row, out)
		}
		out, errs, code = invoke(append(tc.args, "--json")...)
		var d struct {
			Total report.Total
			Now   report.Cost
		}
		if err := json.Unmarshal([]byte(out), &d); err != nil || code != exitDone {
			t.Fatalf("%q --json: %v: %s", tc.args, err, errs)
		}
		c := d.Now
		if tc.args[0] != "explain" {
			c = d.Total.Cost()
		}
		if c.TimeNs == 0 || (c.Unmeasured == 0) != tc.measured || (c.Unmeasured == c.TimeNs) == tc.measured {
			t.Errorf("%q: no row covers %v of %v", tc.args, c.Unmeasured, c.TimeNs)
		}
	}
}

// Advice says where the time that it changes is of work that no measured row covers.
func TestAdviceOnUnmeasuredWork(t *testing.T) {
	const remark = "   * no measurement backs this gain"
	for _, tc := range []struct {
		layer string
		want  bool
	}{
		{"softmax c=64 h=8 w=8", true},
		{"conv cin=64 h=784 w=1 cout=64", false},
	} {
		out, errs, code := invoke("explain", "--layer", tc.layer)
		if code != exitDone {
			t.Fatalf("%s: exit %d: %s", tc.layer, code, errs)
		}
		var d explain.Explanation
		text, _, _ := invoke("explain", "--layer", tc.layer, "--json")
		if err := json.Unmarshal([]byte(text), &d); err != nil {
			t.Fatal(err)
		}
		if len(d.Trials) == 0 {
			t.Fatalf("%s: no advice", tc.layer)
		}
		if got := strings.Contains(out, remark); got != tc.want {
			t.Errorf("%s: advice has a remark: %v, want %v:\n%s", tc.layer, got, tc.want, out)
		}
	}
}
