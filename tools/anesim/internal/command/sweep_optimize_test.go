package command

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"anesim/internal/report"
)

// What is found keeps the budget and is as good as the best of a grid over the same ranges.
func TestSweepOptimise(t *testing.T) {
	const program = "conv cin=64 h=56 w=56 cout=64 k=3"
	area := []string{"--area", "1e-10*TotalRate + 1e-8*Clock"}
	args := append([]string{"sweep", "optimize", program, "chip.TotalRate=10e9..200e9", "chip.Clock=0.5e9..2e9", "--within", "area=20,power=8"}, area...)
	out, errs, code := invoke(append(args, "--csv")...)
	if code != exitDone {
		t.Fatal(errs)
	}
	if again, _, _ := invoke(append(args, "--csv")...); again != out {
		t.Errorf("%s\nthen %s", out, again)
	}
	found := records(t, out)
	column := func(row []string, name string) float64 {
		v, err := strconv.ParseFloat(row[slices.Index(found[0], name)], 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	power := func(row []string) float64 { return column(row, "energy_nj") / column(row, "time_ns") }
	best := found[1]
	if column(best, "area") > 20 || power(best) > 8 {
		t.Errorf("%q is beyond the budget", best)
	}
	rows := sweepRows(t, append([]string{program, "chip.TotalRate=10e9..200e9*1.1", "chip.Clock=0.5e9..2e9*1.05"}, area...)...)
	least := math.Inf(1)
	for _, row := range rows[1:] {
		if column(row, "area") <= 20 && power(row) <= 8 {
			least = min(least, column(row, "time_ns"))
		}
	}
	if got := column(best, "time_ns"); got > least {
		t.Errorf("%v ns, a grid has %v", got, least)
	}
	table, errs, code := invoke(args...)
	if code != exitDone || !strings.Contains(table, "chip.TotalRate") || !strings.Contains(table, "designs timed") || !strings.Contains(table, report.Number(column(best, "time_ns"))) {
		t.Errorf("exit %d: %s%s", code, errs, table)
	}
}

func TestSweepOptimiseErrors(t *testing.T) {
	const program = "relu c=64 h=8 w=8"
	for _, tc := range []struct {
		args []string
		want string
		code int
	}{
		{[]string{program}, "missing chip constant", exitUsage},
		{[]string{"chip.Clock=1e9..2e9"}, "missing program", exitUsage},
		{[]string{"relu", "chip.Clock=1e9..2e9"}, "missing keys for operation relu", exitUsage},
		{[]string{program, "c=1..2"}, "want chip.NAME=FROM..TO", exitUsage},
		{[]string{program, "chip.Clock=1e9,2e9"}, "want chip.NAME=FROM..TO", exitUsage},
		{[]string{program, "chip.Clock=2e9..1e9"}, "invalid range", exitUsage},
		{[]string{program, "chip.Clock=1..2e9"}, "Clock: 1 Hz is out of range", exitUsage},
		{[]string{program, "chip.Clok=1e9..2e9"}, "did you mean Clock?", exitUsage},
		{[]string{program, "chip.Engines=8..16"}, "takes only whole numbers", exitUsage},
		{[]string{program, "chip.Clock=1e9..2e9", "--least", "speed"}, "unknown goal", exitUsage},
		{[]string{program, "chip.Clock=1e9..2e9", "--least", "time,energy"}, "too many goals", exitUsage},
		{[]string{program, "chip.Clock=1e9..2e9", "--within", "power"}, "want GOAL=MOST", exitUsage},
		{[]string{program, "chip.Clock=1e9..2e9", "--within", "power=0.001"}, "no design is within the budget", exitFailed},
	} {
		_, errs, code := invoke(append([]string{"sweep", "optimise"}, tc.args...)...)
		if code != tc.code || !strings.Contains(errs, tc.want) {
			t.Errorf("%q: exit %d: %swant %s", tc.args, code, errs, tc.want)
		}
	}
}
