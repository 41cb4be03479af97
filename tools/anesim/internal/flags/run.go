package flags

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
	"anesim/tools/anesim/internal/input"
	"anesim/tools/anesim/internal/npy"
	"anesim/tools/anesim/internal/usage"
)

// InputFiles are the files that the command reads.
func (f *Run) InputFiles() []string {
	var files []string
	for _, s := range f.In {
		if _, file, ok := strings.Cut(s, "="); ok {
			files = append(files, file)
		}
	}
	if f.Init != "" {
		files = append(files, f.Init)
	}
	return files
}

// OtherFiles are the files that the command reads or writes beside its outputs.
func (f *Run) OtherFiles(model string) []string {
	return append(f.InputFiles(), model, f.HTML, f.Pprof, f.Trace, f.Record, f.HTMLBaseline)
}

// Run are the flags of every command that runs a model.
type Run struct {
	Chip       string
	host       string
	In         []string
	Rounds     bool // floats of other widths in .npy files to fp16
	Out        string
	State      []string
	seed       uint64
	TimingOnly bool
	GateTiles  string
	Set        []string
	Repeat     int
	idle       time.Duration
	Init       string
	Record     string
	Watts      float64
	Power      string
	Bind       []string
	Counters   bool
	Constants  bool
	JSON       bool
	CSV        bool
	Pprof      string
	Trace      string

	HTML, HTMLBaseline string
}

func (f *Run) Register(s *pflag.FlagSet) {
	s.SortFlags = false
	s.StringVar(&f.Chip, "chip", chip.Default, "`CHIP`: "+strings.Join(chip.Names(), ", ")+", or a file that anesim chip wrote; followed by overrides, as in m1,Clock=1.2e9")
	s.StringVar(&f.host, "host", "none", "`HOST` whose part is added to the wall time: "+strings.Join(engine.HostNames(), ", "))
	s.StringArrayVar(&f.In, "in", nil, "input port `NAME=FILE` of fp16 values, .npy (<f2) or raw .f16; repeatable")
	s.StringVar(&f.Out, "out", "", "write each output port to `DIR`/<port>.npy")
	s.StringArrayVar(&f.State, "state", nil, "keep output OUT in memory as input IN of the next dispatch, `OUT=IN`; repeatable, for --repeat")
	s.Uint64Var(&f.seed, "seed", 1, "seed of pseudo-random inputs and weights")
	s.BoolVar(&f.TimingOnly, "timing-only", false, "compute no values: time, bytes and energy alone")
	s.StringVar(&f.GateTiles, "gate-tiles", "", "gate tiles after register init, a `LIST` like 0-3,7")
	s.Float64Var(&f.Watts, "power-budget", 0, "arm peak-power control: throttle the engine to at most `WATTS`; 0 is off")
	s.StringVar(&f.Power, "power", "", "power management, a `LIST` of management=off, gating=off and hysteresis=DURATION")
	s.StringArrayVar(&f.Bind, "bind", nil, "give a run-time parameter of the program a value, `NAME=VALUE`; repeatable")
	s.StringArrayVar(&f.Set, "set", nil, "what-if on every descriptor, `GROUP.REGISTER.FIELD=VALUE`; repeatable")
	s.IntVar(&f.Repeat, "repeat", 1, "dispatch the program `N` times")
	s.DurationVar(&f.idle, "idle", 0, "let the engine idle for a `DURATION` like 150ms before the first dispatch and between repeated ones")
	s.StringVar(&f.Init, "init", "", "register-init table from `FILE`, binary or CSV")
	s.StringVar(&f.Record, "record", "", "write the commands that the run sends to `FILE`, for anesim fw")
	s.BoolVar(&f.Counters, "counters", false, "print the 24 counters of each descriptor")
	s.BoolVar(&f.Constants, "constants", false, "print the chip's constants with their evidence")
	s.BoolVar(&f.JSON, "json", false, "report as JSON (see docs/json.md)")
	s.BoolVar(&f.CSV, "csv", false, "report as CSV, a row per descriptor")
	s.StringVar(&f.Pprof, "pprof", "", "write a profile to `FILE`, for go tool pprof")
	s.StringVar(&f.Trace, "trace", "", "write a trace to `FILE`, for ui.perfetto.dev")
	s.StringVar(&f.HTML, "html", "", "write the report as a page to `FILE` as well")
	s.StringVar(&f.HTMLBaseline, "baseline", "", "baseline `FILE` of anesim check to hold against in the page, for --html")
}

// RegisterOnly registers the named ones of run's flags.
func (f *Run) RegisterOnly(s *pflag.FlagSet, names ...string) {
	s.SortFlags = false
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.Register(all)
	for _, name := range names {
		s.AddFlag(all.Lookup(name))
	}
}

// IdleHelp says what --idle does to a report.
const IdleHelp = `With --idle the engine has idled before each dispatch. Idling and the wake after it are
wall time, never the engine's, and cost energy: ActivePower for HoldTime (HostHold where the
--host has one), EngineStep of each engine that was at work for EngineHold, over the wake
again, and nothing else. The constants are those, WakeGap, WakeTime, ColdGap, ColdWake and
RailsOff of anesim run --constants.`

// maxRowRepeat bounds the dispatches of a run that writes a row for each.
const maxRowRepeat = 1 << 20

// Options turns the flags into a run's.
func (f *Run) Options() (o anesim.Options, err error) {
	if err := f.check(); err != nil {
		return o, err
	}
	o = anesim.Options{Values: !f.TimingOnly, Seed: f.seed, Repeat: f.Repeat, Idle: f.idle, PowerBudget: f.Watts}
	if err = ReadChip(&o, f.Chip); err != nil {
		return o, err
	}
	if o.Host, err = engine.HostByName(cmp.Or(f.host, "none")); err != nil {
		return o, usage.Of(err)
	}
	if f.GateTiles != "" {
		if o.GateTiles, err = firmware.ParseTiles(f.GateTiles); err != nil {
			return o, usage.Of(err)
		}
	}
	if o.Power, err = firmware.ParsePowerPolicy(f.Power); err != nil {
		return o, usage.Of(err)
	}
	for _, s := range f.Set {
		v, err := firmware.ParseOverride(s)
		if err != nil {
			return o, usage.Of(err)
		}
		o.Overrides = append(o.Overrides, v)
	}
	if o.Bind, err = Bindings(f.Bind); err != nil {
		return o, err
	}
	if f.Init != "" {
		if err = input.ReadInit(&o, f.Init); err != nil {
			return o, input.InFile(f.Init, err)
		}
	}
	for _, s := range f.State {
		out, in, ok := strings.Cut(s, "=")
		if !ok || out == "" || in == "" {
			return o, usage.Errorf("--state %q: requires OUT=IN", s)
		}
		o.State = append(o.State, anesim.StateAlias{Output: out, Input: in})
	}
	return o, f.readInputs(&o)
}

// check refuses flags that contradict each other.
func (f *Run) check() error {
	switch {
	case f.HTMLBaseline != "" && f.HTML == "":
		return usage.Errorf("--baseline requires --html; anesim check compares without a page")
	case f.JSON && f.CSV:
		return usage.Errorf("--json and --csv are mutually exclusive")
	case f.Repeat < 1:
		return usage.Errorf("--repeat %d: must be 1 or more", f.Repeat)
	case f.CSV && f.Repeat > maxRowRepeat:
		return usage.Errorf("--csv writes a row for each dispatch: found --repeat %d, want at most %d; --json and the table add them up", f.Repeat, maxRowRepeat)
	case f.idle < 0:
		return usage.Errorf("--idle %v: must be 0 or more", f.idle)
	case f.Record != "" && (len(f.In) > 0 || len(f.State) > 0 || f.GateTiles != "" || f.Watts != 0 || f.Power != "" || len(f.Bind) > 0 || len(f.Set) > 0 || f.Init != "" || f.idle != 0):
		return usage.Errorf("--record has no steps for --in, --state, --gate-tiles, --power-budget, --power, --bind, --set, --init and --idle")
	case f.TimingOnly && f.Out != "":
		return usage.Errorf("--out requires values: it and --timing-only are mutually exclusive")
	}
	return nil
}

// readInputs reads the tensors that --in names.
func (f *Run) readInputs(o *anesim.Options) error {
	o.Inputs, o.Shapes, o.Numbers = make(map[string][]float16.Float16), make(map[string][]int), make(map[string][]float64)
	read := npy.Read
	if f.Rounds {
		read = npy.ReadRounded
	}
	for _, s := range f.In {
		name, file, ok := strings.Cut(s, "=")
		if !ok || name == "" || file == "" {
			return usage.Errorf("--in %q: requires NAME=FILE", s)
		}
		if _, twice := o.Inputs[name]; twice {
			return usage.Errorf("--in %s is given twice", name)
		}
		a, err := input.ReadTensorAs(file, read)
		if err != nil {
			return input.InFile(file, err)
		}
		o.Inputs[name], o.Shapes[name] = a.Data, a.Shape
		if a.Numbers != nil {
			o.Numbers[name] = a.Numbers
		}
	}
	return nil
}

// Interruptible is a context that an interrupt ends.
func Interruptible() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), os.Interrupt)
}
