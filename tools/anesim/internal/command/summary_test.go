package command

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"anesim/hw/clock"
	"anesim/internal/report"
)

// A summary states the time of the JSON report, in lines of at most 80 characters except for the command
// to copy, and adds the host's time that the JSON report of the same run has.
func TestSummary(t *testing.T) {
	for _, args := range [][]string{
		{"model", exampleNetwork("resnet50.yaml")},
		{"model", exampleNetwork("decoder-step.onnx")},
		{"run", "--timing-only"},
		{"layer", "conv", "cin=256", "h=14", "w=14", "cout=256", "k=3", "pad=1", "--timing-only"},
	} {
		for _, host := range []string{"none", "macos-air"} {
			args := append(args[:len(args):len(args)], "--host", host)
			text, problem, code := invoke(append(args, "--summary")...)
			if code != 0 {
				t.Fatalf("%v: %s", args, problem)
			}
			doc, _, _ := invoke(append(args, "--json")...)
			var d struct {
				Total struct {
					TimeNs float64 `json:"time_ns"`
					WallNs float64 `json:"wall_ns"`
					WallNJ float64 `json:"wall_energy_nj"`
				} `json:"total"`
			}
			if err := json.Unmarshal([]byte(doc), &d); err != nil {
				t.Fatal(err)
			}
			head := strings.Join(strings.Fields(text), " ") // a long name has a line of its own
			if want := " on m1: " + inThreeDigits(d.Total.TimeNs) + " on the engine"; !strings.Contains(head, want) {
				t.Errorf("%v: the summary does not say %q:\n%s", args, want, text)
			}
			if want := "a call   " + inThreeDigits(d.Total.WallNs) + " on host " + host; host != "none" && !strings.Contains(text, want) {
				t.Errorf("%v: the summary does not say %q:\n%s", args, want, text)
			}
			if want := " on average: " + report.EnergyText(clock.Nanojoules(d.Total.WallNJ)) + " in "; host != "none" && !strings.Contains(text, want) {
				t.Errorf("%v: the summary does not say %q:\n%s", args, want, text)
			}
			if want := "(--machine m1)"; host == "none" && !strings.Contains(text, want) {
				t.Errorf("%v: the summary does not say %q:\n%s", args, want, text)
			}
			for line := range strings.Lines(text) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 && !strings.Contains(line, "anesim ") {
					t.Errorf("%v: a line of %d characters: %s", args, n, line)
				}
			}
		}
	}
}

// inThreeDigits formats a time in nanoseconds with three significant digits.
func inThreeDigits(ns float64) string {
	unit := "ns"
	for _, u := range []string{"us", "ms"} {
		if ns >= 1000 {
			ns, unit = ns/1000, u
		}
	}
	switch {
	case ns >= 100:
		return fmt.Sprintf("%.0f %s", ns, unit)
	case ns >= 10:
		return fmt.Sprintf("%.1f %s", ns, unit)
	}
	return fmt.Sprintf("%.2f %s", ns, unit)
}

// The change that a summary recommends gains the same share of a call whether the call is repeated or not.
func TestGainOfSummaryIsThatOfACall(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("softmax.yaml", []byte("inputs: {x: {c: 64, h: 1, w: 256}}\nlayers: [{op: softmax, axis: w}]\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	gain := func(flags ...string) string {
		t.Helper()
		out, errs, code := invoke(append([]string{"model", "softmax.yaml", "--machine", "m1", "--summary"}, flags...)...)
		if code != exitDone {
			t.Fatal(errs)
		}
		_, rest, _ := strings.Cut(strings.Join(strings.Fields(out), " "), " faster ")
		advice, _, ok := strings.Cut(rest, " more ")
		if !ok || !strings.Contains(advice, "% ") && !strings.Contains(advice, "%,") {
			t.Fatalf("no gain in per cent in\n%s", out)
		}
		return advice
	}
	if once, often := gain(), gain("--repeat", "100", "--idle", "33ms"); once != often {
		t.Errorf("of one call %q, of 100 calls %q", once, often)
	}
}

// With --rate, the summary's power is that of as many calls a second, and the energy of a call does not
// depend on how many calls the mean is of. A rate that the machine cannot keep is an error that says what it can.
func TestRateOfCalls(t *testing.T) {
	file := exampleNetwork("resnet50.yaml")
	run := func(flags ...string) string {
		t.Helper()
		out, errs, code := invoke(append([]string{"model", file, "--machine", "m1", "--summary"}, flags...)...)
		if code != exitDone {
			t.Fatal(errs)
		}
		return strings.Join(strings.Fields(out), " ")
	}
	for _, flags := range [][]string{{"--rate", "30"}, {"--rate", "30", "--repeat", "50"}} {
		if out := run(flags...); !strings.Contains(out, "of wall time at 30.0 calls/s, idling and waking included") || !strings.Contains(out, "at most 474 calls/s") {
			t.Errorf("%q: %s", flags, out)
		}
	}
	if out := run("--rate", "2"); !strings.Contains(out, "of wall time at 2.00 calls/s") { // the engine wakes for each
		t.Error(out)
	}
	slowest := func(s string) string {
		_, s, _ = strings.Cut(s, " slowest ")
		return s
	}
	if once, often := run(), run("--repeat", "50"); slowest(once) != slowest(often) || !strings.Contains(often, "on the engine, mean of 50 (") {
		t.Errorf("one call:\n%s\n50 calls:\n%s", once, often)
	}
	for _, c := range []struct{ flags, want string }{
		{"--rate 1000", "a call takes 2.11 ms, so there are at most 474 a second"},
		{"--rate 0", "want calls a second"}, {"--rate NaN", "want calls a second"}, {"--rate 30 --idle 1ms", "mutually exclusive"},
	} {
		if _, errs, code := invoke(append([]string{"model", file, "--machine", "m1"}, strings.Fields(c.flags)...)...); code == exitDone || !strings.Contains(errs, c.want) {
			t.Errorf("%s: exit %d, %s", c.flags, code, errs)
		}
	}
}

// A summary that does not cover everything says how much of the work it covers, what is missing and why, in
// the words of the full report.
func TestSummarySaysWhatIsMissing(t *testing.T) {
	file := writeFile(t, "net.yaml", []byte("inputs: {x: {c: 4, h: 8, w: 8}}\nlayers:\n- {name: a, op: conv, cout: 4, k: 1}\n"+
		"- {name: b, op: conv, cout: 4, k: 33, pad: same}\n- {name: d, op: relu}\n"))
	report, _, code := invoke("model", file)
	_, reason, ok := strings.Cut(report, "\n  b (conv): ")
	if code != exitDone || !ok {
		t.Fatalf("the report gives no reason for b:\n%s", report)
	}
	reason, _, _ = strings.Cut(reason, "\n")
	out, errs, code := invoke("model", file, "--summary")
	if code != exitDone {
		t.Fatal(errs)
	}
	words := strings.Join(strings.Fields(out), " ")
	for _, want := range []string{"covers 2 of 3 nodes with 0.1% of the multiply-accumulates", "missing b (conv): " + reason} {
		if !strings.Contains(words, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}
