package command

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"anesim"
	"anesim/bench/report"
	"anesim/bench/scripts"
	"anesim/firmware/traffic"
	"anesim/hw/chip"
	"anesim/tools/anesim/internal/outfile"
	"anesim/tools/anesim/internal/page"
	"anesim/tools/anesim/internal/terminal"
	"anesim/tools/anesim/internal/view"
)

// loadFlags are those of run's that say what is written, and how many events are listed.
type loadFlags struct {
	runFlags
	events int
}

func loadCommand() *cobra.Command {
	var f loadFlags
	c := &cobra.Command{
		Use:   "load SCRIPT",
		Short: "Clients that share the engine: latencies, utilisation, power",
		Long: `Load times the program of each client in SCRIPT once, with the engine to itself, and
simulates all of them calling: percentiles of the latency with their 95 % intervals, the
engine's utilisation, energy and mean power. SCRIPT is YAML; - is standard input:

  chip: m1                 # ` + strings.Join(chip.Names(), " or ") + `
  host: macos-air          # what a call costs outside the engine; none without it
  duration: 2s             # of arrivals; what has arrived is worked off
  seed: 1                  # of random arrivals
  power: hysteresis=50ms   # also management=off and gating=off; the chip's own without it
  in_flight: 1             # commands let in at a time; 1 as on macOS
  clients:
    - name: camera
      layer: conv cin=64 h=56 w=56 cout=64 k=3 pad=same
      priority: 2          # 0 the most urgent, to 7
      arrival: fixed       # or poisson, at rate calls a second
      rate: 30
    - name: batch
      model: resnet50.yaml # or a .hwx or .onnx, beside the script
      priority: 6
      arrival: back-to-back
      threads: 2           # that call again when their call returns
    - name: detect
      layer: sigmoid c=64 h=56 w=56
      after: camera        # calls when a call of that one returns
      reads: {x: y}        # its input x stands where camera's y does: no copy

A call of higher priority has the engine where a run of descriptors ends, once it is let
in: with one command in flight it waits for whole programs. A second overlapped stream of
one client (streams: 2) never completes on an M1; it is counted as stuck.`,
		Example: `  anesim load tools/anesim/examples/load.yaml
  anesim load script.yaml --json
  anesim load script.yaml --events 20
  anesim load script.yaml --trace load.perfetto-trace`,
		Args:              oneFile,
		ValidArgsFunction: networkFiles,
		RunE: func(c *cobra.Command, args []string) error {
			return f.run(c, args[0])
		},
	}
	c.Flags().IntVar(&f.events, "events", 0, "list the first `N` events: what happened to calls")
	f.registerOnly(c.Flags(), "json", "pprof", "trace", "record", "html")
	return c
}

func (f *loadFlags) run(c *cobra.Command, file string) error {
	if f.events < 0 || f.events > traffic.MaxEvents {
		return usage("--events %d: 0 to %d", f.events, traffic.MaxEvents)
	}
	var s_ *traffic.Script
	err := open(file, c.InOrStdin(), func(_ string, r io.ReaderAt, size int64) error {
		data, err := readWhole(r, size, traffic.MaxText)
		if err != nil {
			return err
		}
		s_, err = traffic.ReadScript(data)
		return err
	})
	if err != nil {
		return err
	}
	if s_.Events = f.events; f.record != "" {
		s_.Events = traffic.MaxEvents
	}
	ctx, stop := interruptible()
	defer stop()
	l, err := scripts.RunClients(ctx, s_, func(c *traffic.ScriptClient) (*anesim.Model, error) {
		name := beside(file, c.Model)
		for _, out := range []string{f.record, f.pprof, f.trace, f.html} {
			if sameFile(out, name) {
				return nil, &outfile.InputError{Output: out, Input: name}
			}
		}
		var dims dimFlags
		if c.Dim != "" {
			dims.dims = []string{c.Dim}
		}
		m, err := dims.open(anesim.OpenOptions{}, name, nil, nil)
		if err != nil {
			return nil, err
		}
		return withParameters(m, name)
	})
	if err != nil {
		return inFile(file, err)
	}
	if f.record != "" {
		if err := recordLoad(f.record, file, l); err != nil {
			return inFile(file, err)
		}
		l.Events = traffic.FirstEvents(l.Events, f.events)
	}
	if err := writeTo(f.pprof, func(w io.Writer) error { return report.WriteLoadProfile(w, l, file) }); err != nil {
		return err
	}
	if err := writeTo(f.trace, func(w io.Writer) error { return report.WriteLoadTrace(w, l) }); err != nil {
		return err
	}
	d := report.NewLoad(l)
	if f.html != "" {
		if err := writePage(f.html, view.OfLoad(d), page.Options{}, file); err != nil {
			return err
		}
	}
	if f.json {
		return report.WriteDocument(c.OutOrStdout(), d)
	}
	return writeLoad(c.OutOrStdout(), d)
}

// beside is a file's name as one in a script means it: relative to the script.
func beside(script, name string) string {
	if filepath.IsAbs(name) || script == "-" {
		return name
	}
	return filepath.Join(filepath.Dir(script), name)
}

func writeLoad(w io.Writer, d *report.Load) error {
	p := newPager(w)
	p.Printf("%v of arrivals, seed %d, chip %s, host %s, %s in flight", time.Duration(d.DurationNs), d.Seed, d.Chip, d.Host, report.Plural(d.InFlight, "command"))
	p.Printf("")
	t := terminal.NewTable(
		terminal.Word("client", 0), terminal.Number("prio", 0), terminal.Word("arrival", 3), terminal.Number("calls", 0), terminal.Number("calls/s", 1),
		terminal.Number("alone", 0), terminal.Number("p50", 0), terminal.Number("p90", 2), terminal.Number("p99", 0), terminal.Number("95% interval", 4), terminal.Number("p99.9", 2), terminal.Number("max", 0),
		terminal.Number("mean wait", 0), terminal.Word("program", 5),
	)
	for i := range d.Clients {
		x := &d.Clients[i]
		row := []string{report.Printable(x.Name), fmt.Sprint(x.Priority), x.Arrival, report.Thousands(uint64(x.Calls)), report.Rate(x.CallsPerS), x.Alone.LatencyNs.String()}
		if len(x.Latency) == 0 {
			row = append(row, "-", "-", "-", "-", "-", "-", "-")
		} else {
			at := func(k int) string { return x.Latency[k].LatencyNs.String() }
			row = append(row, at(0), at(1), at(2), fmt.Sprintf("%v to %v", x.Latency[2].LowNs, x.Latency[2].HighNs), at(3), at(4), x.MeanWaitNs.String())
		}
		t.Add(append(row, report.Printable(x.Program))...)
	}
	p.Table(t, 0)
	p.Printf("")
	p.Printf("engine: busy %s of %s, utilisation %.2f%%, %s of descriptors", d.BusyNs, d.TimeNs, 100*d.Utilisation, report.Plural(int(d.Runs), "run"))
	p.Printf("energy: %s for calls, %s for waiting; mean power %s W; waited %s for power domains to wake", d.EnergyNJ, d.WaitNJ, report.Rate(d.MeanW), d.WakeNs)
	if d.HostStages != nil {
		p.Printf("host, each call: %s", stagesText(d.HostStages))
		p.Printf("host: of a call's floor %s run beside other calls, %s hold the gate ahead of the engine and %s behind it (%s)", d.HostSplit.BesideNs, d.HostSplit.BeforeNs, d.HostSplit.AfterNs, d.HostSplit.Evidence)
	}
	for i := range d.Clients {
		if x := &d.Clients[i]; x.Stuck > 0 {
			p.Printf("client %s: %s never completed: on an M1 a second overlapped stream of one process does not", report.Printable(x.Name), report.Plural(x.Stuck, "call"))
		}
	}
	for i := range d.Clients {
		if x := &d.Clients[i]; x.SavedBytes > 0 {
			p.Printf("client %s: %s not copied between host and device, for another client has the buffer", report.Printable(x.Name), report.Bytes(x.SavedBytes))
		}
	}
	if d.Cut {
		p.Printf("arrivals stopped at the bound on calls: max_calls raises it")
	}
	p.loadTimeline(d)
	if len(d.Events) > 0 {
		p.Printf("")
		t := terminal.NewTable(terminal.Number("at", 0), terminal.Word("client", 0), terminal.Number("call", 0), terminal.Word("event", 0), terminal.Number("for", 0))
		for _, e := range d.Events {
			what, took := e.What, ""
			if e.Run > 0 {
				what = fmt.Sprintf("run %d", e.Run)
			}
			if e.ForNs > 0 {
				took = e.ForNs.String()
			}
			t.Add(e.AtNs.String(), report.Printable(e.Client), fmt.Sprint(e.Call), what, took)
		}
		p.Table(t, 0)
	}
	return p.Err
}

// loadTimeline draws the engine's share by client and its power over the duration, a column
// an interval.
func (p pager) loadTimeline(d *report.Load) {
	width := ""
	longest := len("power")
	for _, c := range d.Clients {
		longest = max(longest, len([]rune(report.Printable(c.Name))))
	}
	lines := make([]strings.Builder, len(d.Clients)+1)
	peak := 0
	for i := range d.Timeline {
		if d.Timeline[i].Watts > d.Timeline[peak].Watts {
			peak = i
		}
	}
	for i := range d.Timeline {
		b := &d.Timeline[i]
		if b.Clients == nil {
			continue // what is worked off behind the duration
		}
		width = b.ForNs.String()
		for k, share := range b.Clients {
			lines[k].WriteByte(tenths(share))
		}
		lines[len(d.Clients)].WriteByte(tenths(b.Watts / max(1e-12, d.Timeline[peak].Watts)))
	}
	if width == "" {
		return
	}
	p.Printf("")
	p.Printf("timeline, %s a column: the engine's time by client, and its power, in tenths", width)
	for k, c := range d.Clients {
		p.Printf("%-*s |%s|", longest, report.Printable(c.Name), lines[k].String())
	}
	b := &d.Timeline[peak]
	p.Printf("%-*s |%s| of %s W, the highest, at %s", longest, "power", lines[len(d.Clients)].String(), report.Rate(b.Watts), b.AtNs)
}

// tenths draws a share: nothing, a point for less than a twentieth, 1 to 9, # for all.
func tenths(share float64) byte {
	switch n := int(math.Round(10 * share)); {
	case share <= 0:
		return ' '
	case n == 0:
		return '.'
	case n > 9:
		return '#'
	default:
		return '0' + byte(n)
	}
}
