package command

import (
	"cmp"
	"context"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"github.com/x448/float16"

	"anesim"
	"anesim/firmware"
	"anesim/firmware/engine"
	"anesim/hw/chip"
	"anesim/tools/anesim/internal/npy"
)

// runFlags are the flags of every command that runs a model.
type runFlags struct {
	chip       string
	host       string
	in         []string
	rounds     bool // floats of other widths in .npy files to fp16
	out        string
	state      []string
	seed       uint64
	timingOnly bool
	gateTiles  string
	set        []string
	repeat     int
	idle       time.Duration
	init       string
	record     string
	watts      float64
	power      string
	bind       []string
	counters   bool
	constants  bool
	json       bool
	csv        bool
	pprof      string
	trace      string

	html, htmlBaseline string
}

func (f *runFlags) register(s *pflag.FlagSet) {
	s.SortFlags = false
	s.StringVar(&f.chip, "chip", chip.Default, "`CHIP`: "+strings.Join(chip.Names(), ", ")+", or a file that anesim chip wrote; followed by overrides, as in m1,Clock=1.2e9")
	s.StringVar(&f.host, "host", "none", "`HOST` whose part is added to the wall time: "+strings.Join(engine.HostNames(), ", "))
	s.StringArrayVar(&f.in, "in", nil, "input port `NAME=FILE` of fp16 values, .npy (<f2) or raw .f16; repeatable")
	s.StringVar(&f.out, "out", "", "write each output port to `DIR`/<port>.npy")
	s.StringArrayVar(&f.state, "state", nil, "keep output OUT in memory as input IN of the next dispatch, `OUT=IN`; repeatable, for --repeat")
	s.Uint64Var(&f.seed, "seed", 1, "seed of pseudo-random inputs and weights")
	s.BoolVar(&f.timingOnly, "timing-only", false, "compute no values: time, bytes and energy alone")
	s.StringVar(&f.gateTiles, "gate-tiles", "", "gate tiles after register init, a `LIST` like 0-3,7")
	s.Float64Var(&f.watts, "power-budget", 0, "arm peak-power control: throttle the engine to at most `WATTS`; 0 is off")
	s.StringVar(&f.power, "power", "", "power management, a `LIST` of management=off, gating=off and hysteresis=DURATION")
	s.StringArrayVar(&f.bind, "bind", nil, "give a run-time parameter of the program a value, `NAME=VALUE`; repeatable")
	s.StringArrayVar(&f.set, "set", nil, "what-if on every descriptor, `GROUP.REGISTER.FIELD=VALUE`; repeatable")
	s.IntVar(&f.repeat, "repeat", 1, "dispatch the program `N` times")
	s.DurationVar(&f.idle, "idle", 0, "let the engine idle for a `DURATION` like 150ms before the first dispatch and between repeated ones")
	s.StringVar(&f.init, "init", "", "register-init table from `FILE`, binary or CSV")
	s.StringVar(&f.record, "record", "", "write the commands that the run sends to `FILE`, for anesim fw")
	s.BoolVar(&f.counters, "counters", false, "print the 24 counters of each descriptor")
	s.BoolVar(&f.constants, "constants", false, "print the chip's constants with their evidence")
	s.BoolVar(&f.json, "json", false, "report as JSON (see docs/json.md)")
	s.BoolVar(&f.csv, "csv", false, "report as CSV, a row per descriptor")
	s.StringVar(&f.pprof, "pprof", "", "write a profile to `FILE`, for go tool pprof")
	s.StringVar(&f.trace, "trace", "", "write a trace to `FILE`, for ui.perfetto.dev")
	s.StringVar(&f.html, "html", "", "write the report as a page to `FILE` as well")
	s.StringVar(&f.htmlBaseline, "baseline", "", "baseline `FILE` of anesim check to hold against in the page, for --html")
}

// registerOnly registers the named ones of run's flags.
func (f *runFlags) registerOnly(s *pflag.FlagSet, names ...string) {
	s.SortFlags = false
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.register(all)
	for _, name := range names {
		s.AddFlag(all.Lookup(name))
	}
}

// idleHelp says what --idle does to a report.
const idleHelp = `With --idle the engine has idled before each dispatch. Idling and the wake after it are
wall time, never the engine's, and cost energy: ActivePower for HoldTime (HostHold where the
--host has one), EngineStep of each engine that was at work for EngineHold, over the wake
again, and nothing else. The constants are those, WakeGap, WakeTime, ColdGap, ColdWake and
RailsOff of anesim run --constants.`

// maxRowRepeat bounds the dispatches of a run that writes a row for each.
const maxRowRepeat = 1 << 20

// options turns the flags into a run's.
func (f *runFlags) options() (o anesim.Options, err error) {
	switch {
	case f.htmlBaseline != "" && f.html == "":
		return o, usage("--baseline requires --html; anesim check compares without a page")
	case f.json && f.csv:
		return o, usage("--json and --csv are mutually exclusive")
	case f.repeat < 1:
		return o, usage("--repeat %d: must be 1 or more", f.repeat)
	case f.csv && f.repeat > maxRowRepeat:
		return o, usage("--csv writes a row for each dispatch: found --repeat %d, want at most %d; --json and the table add them up", f.repeat, maxRowRepeat)
	case f.idle < 0:
		return o, usage("--idle %v: must be 0 or more", f.idle)
	case f.record != "" && (len(f.in) > 0 || len(f.state) > 0 || f.gateTiles != "" || f.watts != 0 || f.power != "" || len(f.bind) > 0 || len(f.set) > 0 || f.init != "" || f.idle != 0):
		return o, usage("--record has no steps for --in, --state, --gate-tiles, --power-budget, --power, --bind, --set, --init and --idle")
	case f.timingOnly && f.out != "":
		return o, usage("--out requires values: it and --timing-only are mutually exclusive")
	}
	o = anesim.Options{Values: !f.timingOnly, Seed: f.seed, Repeat: f.repeat, Idle: f.idle, PowerBudget: f.watts}
	if err = readChip(&o, f.chip); err != nil {
		return o, err
	}
	if o.Host, err = engine.HostByName(cmp.Or(f.host, "none")); err != nil {
		return o, &usageError{err}
	}
	if f.gateTiles != "" {
		if o.GateTiles, err = firmware.ParseTiles(f.gateTiles); err != nil {
			return o, &usageError{err}
		}
	}
	if o.Power, err = firmware.ParsePowerPolicy(f.power); err != nil {
		return o, &usageError{err}
	}
	for _, s := range f.set {
		v, err := firmware.ParseOverride(s)
		if err != nil {
			return o, &usageError{err}
		}
		o.Overrides = append(o.Overrides, v)
	}
	if o.Bind, err = bindings(f.bind); err != nil {
		return o, err
	}
	if f.init != "" {
		if err = readInit(&o, f.init); err != nil {
			return o, inFile(f.init, err)
		}
	}
	for _, s := range f.state {
		out, in, ok := strings.Cut(s, "=")
		if !ok || out == "" || in == "" {
			return o, usage("--state %q: requires OUT=IN", s)
		}
		o.State = append(o.State, anesim.StateAlias{Output: out, Input: in})
	}
	o.Inputs, o.Shapes, o.Numbers = make(map[string][]float16.Float16), make(map[string][]int), make(map[string][]float64)
	read := npy.Read
	if f.rounds {
		read = npy.ReadRounded
	}
	for _, s := range f.in {
		name, file, ok := strings.Cut(s, "=")
		if !ok || name == "" || file == "" {
			return o, usage("--in %q: requires NAME=FILE", s)
		}
		if _, twice := o.Inputs[name]; twice {
			return o, usage("--in %s is given twice", name)
		}
		a, err := readTensorAs(file, read)
		if err != nil {
			return o, inFile(file, err)
		}
		o.Inputs[name], o.Shapes[name] = a.Data, a.Shape
		if a.Numbers != nil {
			o.Numbers[name] = a.Numbers
		}
	}
	return o, nil
}

// interruptible is a context that an interrupt ends.
func interruptible() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), os.Interrupt)
}
