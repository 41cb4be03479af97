package command

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"anesim"
	"anesim/hw/chip"
	"anesim/internal/firmware/traffic"
	"anesim/internal/outfile"
	"anesim/internal/report"
	"anesim/internal/report/trace"
	"anesim/internal/scripts"
	"anesim/tools/anesim/internal/flags"
	"anesim/tools/anesim/internal/input"
	"anesim/tools/anesim/internal/interrupt"
	"anesim/tools/anesim/internal/page"
	"anesim/tools/anesim/internal/text"
	"anesim/tools/anesim/internal/usage"
	"anesim/tools/anesim/internal/view"
)

// loadFlags holds the flags of load.
type loadFlags struct {
	runFlags
	events int
}

func loadCommand(plan *outfile.Plan) *cobra.Command {
	f := loadFlags{runFlags: runFlags{plan: plan}}
	c := &cobra.Command{
		Use:   "load SCRIPT",
		Short: "Simulate clients that share the engine: latency, utilization, power",
		Long: `Load times the program of each client in SCRIPT once on an idle engine, and then
simulates all clients calling. It prints percentiles of the latency with 95% intervals,
the engine's utilization, energy and mean power. SCRIPT is YAML; - is standard input:

  chip: m1                 # ` + strings.Join(chip.Names(), " or ") + `
  host: macos-air          # cost of a call outside the engine; default none
  duration: 2s             # of arrivals; calls that have arrived are completed
  seed: 1                  # of random arrivals
  power: hysteresis=50ms   # also management=off and gating=off; default is the chip's
  in_flight: 1             # commands admitted at the same time; 1 as on macOS
  preemption: run          # none, run or abort: what a more urgent command interrupts
  max_calls: 1000000       # arrivals stop there; without it 10 million are the most
  clients:
    - name: camera
      layer: conv cin=64 h=56 w=56 cout=64 k=3 pad=same
      priority: 2          # 0 (most urgent) to 7
      arrival: fixed       # or poisson, with rate calls per second
      rate: 30
    - name: batch
      model: resnet50.yaml # or a .hwx or .onnx, relative to the script
      priority: 6
      arrival: back-to-back
      threads: 2           # each calls again when its call returns
      dim: batch=4         # of a network: sizes that its file leaves open
    - name: sizes
      model: mm.hwx        # with mm.hwx.params, see anesim layer --over
      bind: {k: [32, 64]}  # run-time parameters; calls take the values in turn
    - name: detect
      layer: sigmoid c=64 h=56 w=56
      after: camera        # calls when a call of that client returns
      reads: {x: y}        # its input x shares camera's buffer y: no copy
    - name: style
      adapter_of: batch    # that client's model, with bytes of weights of its own
      bytes: 1000000
      qos: utility         # instead of priority: realtime, interactive, initiated,
                           # default, utility, background, or the number 33, 25, 21, 17, 9
      queue_depth: 4       # calls in flight at the broker, 1 while other clients have any
      keep_wired: true     # the model's memory stays wired while nothing is pending

An admitted call of higher priority gets the engine when a run of descriptors ends
(preemption: run), when the program of another call ends (none), or at once (abort). At
the end of a run it waits until the run's results are in memory, and the next run of the
other call begins with nothing fetched early. An abort loses what the run has done, since L2 does not keep it, and the run starts again
later; it takes no time itself (assumed). A run with a descriptor that has DisallowAbort,
or that has overwritten its own input, is not aborted. With one command in flight, which
is what macOS does, no host ever has two programs to preempt, so all three are the same:
set in_flight to see a difference. The column "mean wait" counts the waits for the driver
to admit a call and those in its task queue. A second overlapped stream of one client
(streams: 2) never completes on an M1; its calls are counted as stuck.

A client with qos, queue_depth, adapter_of or keep_wired asks the broker. It takes calls
in the order of their priorities. Clients that call one model share its memory.`,
		Example: `  anesim load tools/anesim/examples/load.yaml
  anesim load script.yaml --json
  anesim load script.yaml --events 20
  anesim load script.yaml --trace load.perfetto-trace`,
		Args:              usage.OneFile,
		ValidArgsFunction: flags.CompleteNetwork,
		RunE: func(c *cobra.Command, args []string) error {
			return f.run(c, args[0])
		},
	}
	c.Flags().IntVar(&f.events, "events", 0, "list the first `N` events of calls")
	f.RegisterOnly(c.Flags(), "json", "pprof", "trace", "record", "html")
	return c
}

func (f *loadFlags) run(c *cobra.Command, file string) error {
	if f.events < 0 || f.events > traffic.MaxEvents {
		return usage.Errorf("--events %d: want 0 to %d", f.events, traffic.MaxEvents)
	}
	var s_ *traffic.Script
	err := input.Open(file, c.InOrStdin(), func(_ string, r io.ReaderAt, size int64) error {
		data, err := input.ReadWhole(r, size, traffic.MaxText)
		if err != nil {
			return err
		}
		s_, err = traffic.ReadScript(data)
		return err
	})
	if err != nil {
		return err
	}
	// A record needs all events, also if none are to be printed.
	if s_.Events = f.events; f.Record != "" {
		s_.Events = traffic.MaxEvents
	}
	ctx, stop := interrupt.Context()
	defer stop()
	l, err := scripts.RunClients(ctx, s_, func(c *traffic.ScriptClient) (*anesim.Model, error) { return f.openModel(file, c) })
	if err != nil {
		return nameScript(file, err)
	}
	if f.Record != "" {
		if err := writeLoadScript(f.Record, file, l); err != nil {
			return input.InFile(file, err)
		}
		l.Events = traffic.FirstEvents(l.Events, f.events)
	}
	if err := outfile.WriteTo(f.Pprof, func(w io.Writer) error { return report.WriteLoadProfile(w, l, file) }); err != nil {
		return err
	}
	if err := outfile.WriteTo(f.Trace, func(w io.Writer) error { return trace.WriteLoad(w, l) }); err != nil {
		return err
	}
	d := report.NewLoad(l)
	if f.HTML != "" {
		if err := page.WriteFile(f.HTML, view.FromLoad(d), page.Options{}); err != nil {
			return err
		}
	}
	if f.JSON {
		return report.WriteDocument(c.OutOrStdout(), d)
	}
	if err := text.WriteLoad(c.OutOrStdout(), d); err != nil {
		return err
	}
	return printWritten(c.OutOrStdout(), f.Record, f.Pprof, f.Trace, f.HTML)
}

// openModel opens the model of a client. It returns an error if the command also writes to one of
// the model's files.
func (f *loadFlags) openModel(script string, c *traffic.ScriptClient) (*anesim.Model, error) {
	name := resolveModelPath(script, c.Model)
	if err := f.plan.Read(name, input.ParametersFile(name)); err != nil {
		return nil, err
	}
	dims := flags.Dims{Source: "the client's key dim"}
	if c.Dim != "" {
		dims.Dims = []string{c.Dim}
	}
	m, err := dims.Open(anesim.OpenOptions{}, name, nil, nil)
	if err != nil {
		return nil, err
	}
	if err := f.plan.Read(m.Files()...); err != nil {
		return nil, err
	}
	return input.WithParameters(m, name)
}

// resolveModelPath returns the path of a file that a script names relative to the script's
// directory.
func resolveModelPath(script, name string) string {
	if filepath.IsAbs(name) || script == "-" {
		return name
	}
	return filepath.Join(filepath.Dir(script), name)
}

// nameScript adds the name of a script to an error, also if it is about a file that the script names.
func nameScript(file string, err error) error { return fmt.Errorf("%s: %w", file, err) }
