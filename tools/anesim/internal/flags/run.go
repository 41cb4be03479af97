package flags

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"github.com/x448/float16"

	"anesim"
	"anesim/firmware"
	"anesim/firmware/engine"
	"anesim/hw/chip"
	"anesim/hw/execycles"
	"anesim/hw/machine"
	"anesim/tools/anesim/internal/input"
	"anesim/tools/anesim/internal/npy"
	"anesim/tools/anesim/internal/usage"
)

// Run holds the values of the flags that control a run of a model.
type Run struct {
	Chip       string
	host       string
	Machine    string // one, or several with commas between them
	several    bool   // several machines are allowed
	clock      int
	target     string
	In         []string
	Rounds     bool // round wider floats and integers in .npy files to fp16
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
	Precision  bool
	Summary    bool
	Counters   bool
	Constants  bool
	JSON       bool
	CSV        bool
	Pprof      string
	Trace      string

	HTML, HTMLBaseline string
}

// Register adds all flags to s.
func (f *Run) Register(s *pflag.FlagSet) {
	// Help lists flags in this order: machine, inputs, what-ifs, then forms of the report.
	s.SortFlags = false
	s.StringVar(&f.Chip, "chip", chip.Default, "model `CHIP`: "+strings.Join(chip.Names(), ", ")+", or a file written by anesim chip; overrides may follow, as in m1,Clock=1.2e9")
	s.StringVar(&f.host, "host", "none", "add the time that a call takes on `HOST`: "+strings.Join(engine.HostNames(), ", "))
	s.StringVar(&f.Machine, "machine", "", "run on `MACHINE`, a chip with its host: "+strings.Join(machine.WrittenNames(), ", ")+"; overrides may follow, as for --chip")
	s.IntVar(&f.clock, "clock", 0, "run the engine at its clock state of `MHZ` (default: the highest, or that of the machine)")
	s.StringVar(&f.target, "target", "", "use Apple's estimates for `TARGET`: "+strings.Join(execycles.TargetNames(), ", ")+" (default: that of the program; of layers h13, with release 2026 in a network h13g)")
	s.StringArrayVar(&f.In, "in", nil, "input port `NAME=FILE` of fp16 values, .npy (<f2) or raw .f16; repeatable")
	s.StringVar(&f.Out, "out", "", "write each output port to `DIR`/<port>.npy")
	s.StringArrayVar(&f.State, "state", nil, "keep an output in memory as an input of the next call, `OUT=IN`; repeatable, for --repeat")
	s.Uint64Var(&f.seed, "seed", 1, "seed of pseudo-random inputs and weights")
	s.BoolVar(&f.TimingOnly, "timing-only", false, "compute time, bytes and energy, but no values")
	s.StringVar(&f.GateTiles, "gate-tiles", "", "gate the tiles in `LIST` after register init, such as 0-3,7")
	s.Float64Var(&f.Watts, "power-budget", 0, "throttle the engine to at most `WATTS` (peak-power control); 0 is off")
	s.StringVar(&f.Power, "power", "", "change power management by a `LIST` of management=off, gating=off and hysteresis=DURATION")
	s.StringArrayVar(&f.Bind, "bind", nil, "set a run-time parameter of the program, `NAME=VALUE`; repeatable")
	s.StringArrayVar(&f.Set, "set", nil, "what-if: set a register field of every descriptor, `GROUP.REGISTER.FIELD=VALUE`; repeatable")
	s.IntVar(&f.Repeat, "repeat", 1, "call the program `N` times")
	s.DurationVar(&f.idle, "idle", 0, "idle for a `DURATION` like 150ms before the first call and between repeated ones")
	s.StringVar(&f.Init, "init", "", "register-init table from `FILE`, binary or CSV")
	s.StringVar(&f.Record, "record", "", "write the commands of the run to `FILE`, for anesim fw")
	s.BoolVar(&f.Precision, "precision", false, "report where the engine's arithmetic costs accuracy, and what helps, instead of times")
	s.BoolVar(&f.Summary, "summary", false, "print only the summary that ends a report on a terminal")
	s.BoolVar(&f.Counters, "counters", false, "print the 24 counters of each descriptor")
	s.BoolVar(&f.Constants, "constants", false, "print the chip's constants with their evidence")
	s.BoolVar(&f.JSON, "json", false, "report as JSON (see docs/json.md)")
	s.BoolVar(&f.CSV, "csv", false, "report as CSV, a row per descriptor")
	s.StringVar(&f.Pprof, "pprof", "", "write a profile to `FILE`, for go tool pprof")
	s.StringVar(&f.Trace, "trace", "", "write a trace to `FILE`, for ui.perfetto.dev")
	s.StringVar(&f.HTML, "html", "", "also write the report as an HTML page to `FILE`")
	s.StringVar(&f.HTMLBaseline, "baseline", "", "with --html: compare with `FILE`, a baseline of anesim check")
}

// RegisterOnly adds the named flags to s.
func (f *Run) RegisterOnly(s *pflag.FlagSet, names ...string) {
	s.SortFlags = false
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.Register(all)
	for _, name := range names {
		s.AddFlag(all.Lookup(name))
	}
}

// AllowMachines lets --machine, a flag of s, name several machines.
func (f *Run) AllowMachines(s *pflag.FlagSet) {
	f.several = true
	s.Lookup("machine").Usage += "; several with commas print one table of calls, or with --summary a summary each"
}

// IdleHelp is the help text about the effect of --idle on a report, and about energy.
const IdleHelp = `With --idle, the engine idles before each call. Idling and the wake-up after it are part
of the wall time but not of engine time. Both cost energy: see docs/how-it-works.md.

Energy is what the supply of the engine draws, for the bytes moved too. It leaves out
the memory chips, CPU, GPU, display, losses of a battery and the rest of the device.`

// maxRowRepeat is the most dispatches of a run that writes a CSV row for each.
const maxRowRepeat = 1 << 20

// Options converts the flags to the options of a run. It reads the files that the flags name.
func (f *Run) Options() (o anesim.Options, err error) {
	if err := f.checkFlags(); err != nil {
		return o, err
	}
	o = anesim.Options{Values: !f.TimingOnly, Precision: f.Precision, Seed: f.seed, Repeat: f.Repeat, Idle: f.idle, PowerBudget: f.Watts}
	// The machine comes before all that may depend on its chip.
	if err = f.readMachine(&o, f.Machine); err != nil {
		return o, err
	}
	if f.target != "" {
		if o.Target, err = execycles.ParseTarget(f.target); err != nil {
			return o, usage.Of(err)
		}
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
	if o.Bind, err = ParseBindings(f.Bind); err != nil {
		return o, err
	}
	if f.Init != "" {
		if err = input.ReadInit(&o, f.Init); err != nil {
			return o, err
		}
	}
	for _, s := range f.State {
		out, in, ok := strings.Cut(s, "=")
		if !ok || out == "" || in == "" {
			return o, usage.Errorf("--state %q: want OUT=IN", s)
		}
		o.State = append(o.State, anesim.StateAlias{Output: out, Input: in})
	}
	// Inputs are the largest files, so they are read once all flags are known to be valid.
	return o, f.readInputs(&o)
}

// Machines returns the machines in --machine, each with its changes to constants, such as "m4" and
// "m1,Clock=1.2e9".
func (f *Run) Machines() (list []string) {
	for _, word := range strings.Split(f.Machine, ",") {
		if n := len(list); n > 0 && strings.Contains(word, "=") {
			list[n-1] += "," + word
			continue
		}
		list = append(list, word)
	}
	return list
}

// SetMachine changes o to a run on the named machine, at the clock of --clock if it is set. Changes to
// constants of its chip may follow the name, as in "m1,Clock=1.2e9".
func (f *Run) SetMachine(o *anesim.Options, name string) error {
	words := strings.Split(name, ",")
	m, err := machine.ByName(words[0])
	if err == nil && f.clock > 0 {
		m, err = m.AtClock(f.clock)
	}
	if err != nil {
		return usage.Of(err)
	}
	for _, word := range words[1:] {
		if err := setChipConstant("--machine", &m.Chip, word); err != nil {
			return err
		}
	}
	if len(words) > 1 {
		m.Name, m.Title = name, m.Title+" with changed constants"
	}
	o.Machine, o.Chip, o.Host = &m, m.Chip, m.Host
	return nil
}

// readMachine sets the chip and the host of o to the ones of the named machine, or of --chip and --host
// if there is no name. Of several names it reads the first.
func (f *Run) readMachine(o *anesim.Options, name string) (err error) {
	if name != "" {
		if f.Chip != "" && f.Chip != chip.Default || f.host != "" && f.host != "none" {
			return usage.Errorf("--machine and --chip or --host are mutually exclusive: a machine has both")
		}
		return f.SetMachine(o, f.Machines()[0])
	}
	if err = ReadChip(o, f.Chip, f.clock); err != nil {
		return err
	}
	if o.Host, err = engine.HostByName(cmp.Or(f.host, "none")); err != nil {
		return usage.Of(err)
	}
	return nil
}

// checkFlags returns an error if flags contradict each other or have values that are not valid.
func (f *Run) checkFlags() error {
	switch {
	case f.Machine != "" && slices.Contains(f.Machines(), ""):
		return usage.Errorf("--machine %q: a name is missing; want names with single commas between them, such as m1,m4", f.Machine)
	case !f.several && len(f.Machines()) > 1:
		return usage.Errorf("--machine %s: want one machine; several are for anesim run, layer and model", f.Machine)
	case f.HTMLBaseline != "" && f.HTML == "":
		return usage.Errorf("--baseline requires --html; to compare without a page, use anesim check")
	case f.JSON && f.CSV:
		return usage.Errorf("--json and --csv are mutually exclusive")
	case f.Summary && (f.JSON || f.CSV || f.Counters || f.Constants):
		return usage.Errorf("--summary and --json, --csv, --counters or --constants are mutually exclusive")
	case f.Repeat < 1:
		return usage.Errorf("--repeat %d: want 1 or more", f.Repeat)
	case f.CSV && f.Repeat > maxRowRepeat:
		return usage.Errorf("--repeat %d: want at most %d with --csv, which writes a row for each dispatch", f.Repeat, maxRowRepeat)
	case f.idle < 0:
		return usage.Errorf("--idle %v: want 0 or more", f.idle)
	case f.Record != "" && (len(f.In) > 0 || len(f.State) > 0 || f.GateTiles != "" || f.Watts != 0 || f.Power != "" || len(f.Set) > 0 || f.Init != "" || f.idle != 0):
		return usage.Errorf("--record cannot record --in, --state, --gate-tiles, --power-budget, --power, --set, --init or --idle")
	case f.Precision && f.TimingOnly:
		return usage.Errorf("--precision and --timing-only are mutually exclusive: precision needs values")
	case f.Precision && f.CSV:
		return usage.Errorf("--precision and --csv are mutually exclusive; --json has the figures")
	case f.Precision && f.HTML != "":
		return usage.Errorf("--precision and --html are mutually exclusive: the page has times; --json has the figures")
	case f.Precision && !f.JSON && (f.Counters || f.Constants):
		return usage.Errorf("--precision reports accuracy alone; with --counters or --constants it requires --json")
	case f.TimingOnly && f.Out != "":
		return usage.Errorf("--out and --timing-only are mutually exclusive: outputs need values")
	}
	return nil
}

// readInputs reads the tensor files of the --in flags.
func (f *Run) readInputs(o *anesim.Options) error {
	o.Inputs, o.Shapes, o.Numbers = make(map[string][]float16.Float16), make(map[string][]int), make(map[string][]float64)
	read := npy.Read
	if f.Rounds {
		read = npy.ReadRounded
	}
	for _, s := range f.In {
		name, file, ok := strings.Cut(s, "=")
		if !ok || name == "" || file == "" {
			return usage.Errorf("--in %q: want NAME=FILE", s)
		}
		if _, twice := o.Inputs[name]; twice {
			return usage.Errorf("duplicate --in %s", name)
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
