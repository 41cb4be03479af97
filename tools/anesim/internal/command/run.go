package command

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/x448/float16"

	"anesim"
	"anesim/firmware"
	"anesim/hw"
	"anesim/hw/clock"
	"anesim/hw/host"
	"anesim/loader"
	"anesim/loader/lower"
)

// runFlags are the flags of every command that runs a program.
type runFlags struct {
	chip       string
	host       string
	preset     host.Host // of host, once the options are read
	in         []string
	out        string
	seed       uint64
	timingOnly bool
	gateTiles  string
	set        []string
	repeat     int
	idle       time.Duration
	init       string
	counters   bool
	constants  bool
	json       bool
	csv        bool
}

func (f *runFlags) register(s *pflag.FlagSet) {
	s.SortFlags = false
	s.StringVar(&f.chip, "chip", "m1", "machine: m1 or m1max")
	s.StringVar(&f.host, "host", "none", "host whose part is added to the wall time: none, linux, macos-air, macos-mbp, macos-max, macos-max-b or macos-guide")
	s.StringArrayVar(&f.in, "in", nil, "input port `NAME=FILE` of halves, .npy (<f2) or raw .f16; repeatable")
	s.StringVar(&f.out, "out", "", "write each output port to `DIR`/<port>.npy")
	s.Uint64Var(&f.seed, "seed", 1, "seed of the inputs that are not given")
	s.BoolVar(&f.timingOnly, "timing-only", false, "no values: time, bytes and energy alone")
	s.StringVar(&f.gateTiles, "gate-tiles", "", "gate tiles after register init, a `LIST` like 0-3,7")
	s.StringArrayVar(&f.set, "set", nil, "what-if on every descriptor, `GROUP.REGISTER.FIELD=VALUE`; repeatable")
	s.IntVar(&f.repeat, "repeat", 1, "dispatch the program `N` times")
	s.DurationVar(&f.idle, "idle", 0, "let the engine idle for a `DURATION` like 150ms before the first dispatch and between repeated ones")
	s.StringVar(&f.init, "init", "", "register-init table from `FILE`, binary or CSV")
	s.BoolVar(&f.counters, "counters", false, "print the 24 counters of each descriptor")
	s.BoolVar(&f.constants, "constants", false, "print the chip's constants with their evidence")
	s.BoolVar(&f.json, "json", false, "report as JSON")
	s.BoolVar(&f.csv, "csv", false, "report as CSV, a row per descriptor")
}

// idleHelp says what --idle does to a report.
const idleHelp = `With --idle the engine has idled before each dispatch. Idling and the wake after it are
wall time, never the engine's, and cost energy: the waiting power until the rails go off,
then nothing, and the waiting power over the wake. The constants are WakeGap, WakeTime,
ColdGap, ColdWake and RailsOff of anesim run --constants.`

func runCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run [FILE]",
		Short: "Run a program: values, cycles, bytes, energy",
		Long: `Run loads a program, applies the register-init records, walks its descriptors and
prints a table per descriptor with totals. Without FILE it runs the built-in program,
a 64-to-64 linear layer with the identity as weights.

FILE is a hardware container (.hwx) or a bare __text chain. A bare chain has no
weights and no ports of its own: its memory is laid out from its descriptors, and its
weights are an input like any other ("weights").

` + idleHelp + `

With --json, "power" lists the engine's power from start to end of the wall time, in
watts: idle, rails off, wake, host, then each descriptor; peak_w is its highest. A span
of no time ("dispatch", where no host is named) has energy alone.`,
		Args: atMostOneFile,
		RunE: func(c *cobra.Command, args []string) error {
			p, err := programArg(args)
			if err != nil {
				return err
			}
			return f.run(c.OutOrStdout(), p)
		},
	}
	f.register(c.Flags())
	return c
}

// programArg opens the command's program, the built-in one when there is no argument.
func programArg(args []string) (*loader.Program, error) {
	if len(args) == 0 {
		return lower.IdentityProgram()
	}
	p, err := loader.Open(args[0])
	if err != nil {
		return nil, inFile(args[0], err)
	}
	return p, nil
}

// inFile puts the file's name before an error; those of opening it have it already.
func inFile(name string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}

// options turns the flags into a machine's.
func (f *runFlags) options() (o anesim.Options, err error) {
	if f.json && f.csv {
		return o, usage("--json and --csv exclude each other")
	}
	if f.repeat < 1 {
		return o, usage("--repeat %d: want 1 or more", f.repeat)
	}
	if f.idle < 0 {
		return o, usage("--idle %v: want 0 or more", f.idle)
	}
	if f.timingOnly && f.out != "" {
		return o, usage("--timing-only computes nothing for --out")
	}
	o = anesim.Options{Values: !f.timingOnly, Seed: f.seed, Repeat: f.repeat, Idle: clock.Nanoseconds(f.idle.Nanoseconds())}
	if o.Chip, err = hw.ChipByName(f.chip); err != nil {
		return o, &usageError{err}
	}
	if f.preset, err = host.ByName(cmp.Or(f.host, "none")); err != nil {
		return o, &usageError{err}
	}
	if f.gateTiles != "" {
		if o.GateTiles, err = firmware.ParseTiles(f.gateTiles); err != nil {
			return o, &usageError{err}
		}
	}
	for _, s := range f.set {
		v, err := firmware.ParseOverride(s)
		if err != nil {
			return o, &usageError{err}
		}
		o.Overrides = append(o.Overrides, v)
	}
	if f.init != "" {
		if o.Init, err = readInit(f.init); err != nil {
			return o, inFile(f.init, err)
		}
	}
	o.Inputs = make(map[string][]float16.Float16)
	for _, s := range f.in {
		name, file, ok := strings.Cut(s, "=")
		if !ok || name == "" || file == "" {
			return o, usage("--in %q: want NAME=FILE", s)
		}
		if _, twice := o.Inputs[name]; twice {
			return o, usage("--in %s is given twice", name)
		}
		if o.Inputs[name], err = readHalves(file); err != nil {
			return o, inFile(file, err)
		}
	}
	return o, nil
}

// run executes the program and prints the report.
func (f *runFlags) run(w io.Writer, p *loader.Program) error {
	o, err := f.options()
	if err != nil {
		return err
	}
	res, err := anesim.Run(p, o)
	if err != nil {
		return inFile(p.Name, err)
	}
	if f.out != "" {
		if err := writeOutputs(f.out, res); err != nil {
			return err
		}
	}
	switch {
	case f.json:
		err = writeJSON(w, res, &o, f)
	case f.csv:
		err = writeCSV(w, res)
	default:
		err = writeTable(w, res, &o, f)
	}
	if err != nil {
		return err
	}
	if faults := res.Report.Faults; len(faults) > 0 {
		return inFile(filepath.Base(p.Name), fmt.Errorf("device fault: %v", faults[0]))
	}
	return nil
}
