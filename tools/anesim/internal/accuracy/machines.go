package accuracy

import (
	"fmt"
	"io"

	"anesim/bench"
	"anesim/hw"
	"anesim/internal/report"
	"anesim/tools/anesim/internal/terminal"
)

// A machinesDocument is the JSON report of the model's accuracy on machines after the M1.
type machinesDocument struct {
	report.Header
	Machines   []jsonMachine    `json:"machines"`
	Energies   []jsonMachine    `json:"energies"`
	Rows       []jsonLaterRow   `json:"rows"`
	Unmodelled []jsonUnmodelled `json:"not_modelled"`
}

type jsonMachine struct {
	Machine   string  `json:"machine"`
	N         int     `json:"n"`
	MedianPct float64 `json:"median_pct"`
	BiasPct   float64 `json:"bias_pct"`
	P90Pct    float64 `json:"p90_pct"`
	Within25  int     `json:"within_25_pct"`
	Inside    int     `json:"inside_interval"`
}

type jsonLaterRow struct {
	ID         string  `json:"id"`
	Machine    string  `json:"machine"`
	Path       string  `json:"path"`
	Op         string  `json:"op"`
	MeasuredUs float64 `json:"measured_us"`
	ModelUs    float64 `json:"model_us"`
	LowUs      float64 `json:"model_low_us"`
	HighUs     float64 `json:"model_high_us"`
	EngineUs   float64 `json:"engine_us"`
	ErrorPct   float64 `json:"error_pct"`
	Source     string  `json:"source"`
}

// WriteMachines compares the estimates for machines after the M1 with the published times of calls, each
// by a fit without the row's machine. It writes a table of the machines, a list of the rows if rows is
// true, or both as JSON if asJSON is true.
func WriteMachines(w io.Writer, asJSON, rows bool) error {
	list, unmodelled, err := bench.CompareLater()
	if err != nil {
		return err
	}
	summaries, err := bench.SummarizeLater(list)
	if err != nil {
		return err
	}
	ofEnergy, inEnergy, err := bench.JudgeLaterEnergies(list)
	if err != nil {
		return err
	}
	if asJSON {
		d := machinesDocument{Header: report.NewHeader(), Machines: newJSONMachines(summaries), Energies: newJSONMachines(ofEnergy)}
		for i := range list {
			x := &list[i]
			// All figures are those of the fit that has not seen the row's machine: errors of a fit to all
			// machines would be too good.
			us := x.NewMachine.Model / 1e3
			d.Rows = append(d.Rows, jsonLaterRow{x.Row.ID, x.Machine, x.Row.Path, x.Row.Op, x.NewMachine.Reference / 1e3, us, us * x.Low, us * x.High, float64(x.Engine) / 1e3, 100 * x.NewMachine.Error(), x.Row.Source})
		}
		for _, err := range unmodelled {
			d.Unmodelled = append(d.Unmodelled, splitUnmodelledError(err))
		}
		return report.WriteDocument(w, d)
	}
	p := terminal.NewPager(w)
	if rows {
		t := terminal.NewTable(terminal.Word("row", 0), terminal.Word("machine", 0), terminal.Word("path", 1), terminal.Word("op", 0),
			terminal.Number("measured us", 0), terminal.Number("model us", 0), terminal.Number("error", 0), terminal.Number("engine us", 2), terminal.Number(hw.IntervalPercent+" interval us", 3))
		for i := range list {
			x := &list[i]
			us := x.NewMachine.Model / 1e3
			t.Add(x.Row.ID, x.Machine, x.Row.Path, x.Row.Op, formatNumber(x.NewMachine.Reference/1e3), formatNumber(us), percent(x.NewMachine),
				formatNumber(float64(x.Engine)/1e3), formatNumber(us*x.Low)+"-"+formatNumber(us*x.High))
		}
		p.WideTable(t, 0)
		p.Printf("")
	}
	p.Printf("machines after the M1, the machine left out of the fit (--machines --rows lists the calls)")
	p.Table(newMachineTable(summaries), 0)
	p.Printf("")
	p.Printf("energies of calls on them, the machine left out of the fit; norms and 8-bit activations are not judged")
	p.Table(newMachineTable(ofEnergy), 0)
	if rows {
		p.Printf("")
		for _, x := range [...]struct {
			title string
			list  []bench.Coverage
		}{
			{"calls inside their interval", bench.LaterCoverage(list)},
			{"energies inside their interval", inEnergy},
			{"engine's part inside its interval, in calls that are mostly the engine's", bench.EngineCoverage(list)},
		} {
			p.Printf("%s", x.title)
			t := terminal.NewTable(terminal.Word("", 0), terminal.Word("", 0), terminal.Number("", 0), terminal.Number("", 0))
			for _, c := range x.list {
				t.Add(c.Property, c.Name, fmt.Sprintf("%d of %d", c.Holds, c.N), fmt.Sprintf("%.0f%%", 100*c.Share()))
			}
			p.Table(t, 0)
			p.Printf("")
		}
		// Calls without an estimate come with the rows alone; the table counts the others in n.
		p.Printf("not modelled")
		for _, err := range unmodelled {
			p.Printf("  %s", report.Printable(err.Error()))
		}
	}
	return p.Err
}

// newMachineTable returns a table with a row for each machine.
func newMachineTable(summaries []bench.LaterSummary) *terminal.Table {
	t := terminal.NewTable(terminal.Word("machine", 0), terminal.Number("n", 0), terminal.Number("median", 0), terminal.Number("bias", 0), terminal.Number("p90", 0), terminal.Number("≤25%", 0), terminal.Number("inside interval", 0))
	for i := range summaries {
		s := &summaries[i]
		share := func(n int) string { return fmt.Sprintf("%.0f%%", 100*float64(n)/float64(s.N)) }
		t.Add(s.Machine, fmt.Sprint(s.N), formatPercent(s.Median), fmt.Sprintf("%+.1f%%", 100*s.Bias), formatPercent(s.P90), share(s.Within), share(s.Holds.Holds))
	}
	return t
}

func newJSONMachines(summaries []bench.LaterSummary) (list []jsonMachine) {
	for i := range summaries {
		s := &summaries[i]
		list = append(list, jsonMachine{s.Machine, s.N, 100 * s.Median, 100 * s.Bias, 100 * s.P90, s.Within, s.Holds.Holds})
	}
	return list
}
