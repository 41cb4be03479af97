package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"anesim"
)

// sweepFlags are the flags of sweep.
type sweepFlags struct {
	runFlags
	resume  string
	shard   string
	pareto  string
	workers int
}

func sweepCommand() *cobra.Command {
	var f sweepFlags
	c := &cobra.Command{
		Use:   "sweep OP|FILE key=values... ",
		Short: "Time a grid of layers or register values, CSV out",
		Long: `Sweep times every combination of values: of a layer's keys (anesim layer -h), of register
fields of a program in FILE, or both. Values are not computed. The points run on all
processors; the rows come in the grid's order, the last key changing fastest, then the
--set fields. A key like chip.Clock varies a constant of the chip (anesim chip lists them).

Values are joined by commas; each is a word or a range:

  64,128,256     these
  1..5           1 2 3 4 5
  16..64+16      16 32 48 64
  64..512*2      64 128 256 512
  1e9..2e9+0.5e9 1e9 1.5e9 2e9, of a chip's constant alone

A layer that is refused and a point where the device faults are rows too, with the
reason in the last column. --resume FILE writes to FILE and goes on behind the last
complete row in it; --shard 2/8 takes points 2, 10, 18, ... of the grid, and anesim sweep
merge puts the shards' files together again. --pareto time,energy prints only the points
that no other is better than in both, once all are timed; a goal is time, energy, dma or
a chip. key, and less of it is better.`,
		Example: `  anesim sweep conv cin=64,128,256 h=14,28 w=14,28 cout=64..512*2 k=1,3 pad=same
  anesim sweep add.hwx --set PE.Cfg.OpMode=0..3
  anesim sweep conv cin=64 h=56 w=56 cout=64 k=3 chip.ReadRate=20e9..60e9+10e9 --pareto time,chip.ReadRate`,
		ValidArgsFunction: operationWords,
		RunE: func(c *cobra.Command, args []string) error {
			return f.run(c.OutOrStdout(), c.ErrOrStderr(), args)
		},
	}
	s := c.Flags()
	f.registerOnly(s, "chip", "seed", "gate-tiles", "set", "repeat", "init", "pprof", "trace", "html")
	s.Lookup("seed").Usage = "seed of the weights"
	s.Lookup("set").Usage = "register values, `GROUP.REGISTER.FIELD=VALUES`; repeatable"
	s.StringVar(&f.resume, "resume", "", "write rows to `FILE`, behind those it has")
	s.StringVar(&f.shard, "shard", "", "the `I/N` part of the points")
	s.StringVar(&f.pareto, "pareto", "", "print the Pareto front over these `GOALS`")
	s.IntVar(&f.workers, "workers", runtime.GOMAXPROCS(0), "points at a time")
	completeFlags(c)
	c.AddCommand(mergeCommand())
	return c
}

// maxWorkers bounds the points at a time: more than any machine has processors.
const maxWorkers = 1 << 12

// A sweep is a grid over layers or a program.
type sweep struct {
	program *anesim.Model // nil of an operation
	name    string        // of the operation or file
	keys    int           // axes that are keys of the layer or the chip; the rest are register fields
	grid    grid
	options anesim.Options
}

func (f *sweepFlags) run(stdout, stderr io.Writer, args []string) error {
	s, err := f.sweep(args)
	if err != nil {
		return err
	}
	part, err := parseShard(f.shard)
	if err != nil {
		return err
	}
	if f.workers < 1 || f.workers > maxWorkers {
		return usage("--workers %d: must be between 1 and %d", f.workers, maxWorkers)
	}
	var best *front
	if f.pareto != "" {
		if f.resume != "" {
			return usage("--pareto and --resume are mutually exclusive: a front is known once all points are timed")
		}
		if best, err = s.front(f.pareto); err != nil {
			return err
		}
	}
	total, err := s.grid.points()
	if err != nil {
		return err
	}
	if err := s.try(); err != nil {
		return err
	}
	if err := f.checkProfiles(s.name); err != nil {
		return err
	}
	if n := part.points(total); (f.pprof != "" || f.trace != "") && n > maxProfiled {
		return usage("--pprof and --trace take at most %d points, not %d: --shard makes fewer of them", maxProfiled, n)
	}
	out := &sweepOutput{w: stdout, header: s.header()}
	if f.resume != "" {
		file, err := openRows(f.resume)
		if err != nil {
			return err
		}
		defer file.Close()
		if err := out.resume(file, part.points(total), func(row int) []string { return s.label(part.point(row)) }); err != nil {
			return inFile(f.resume, err)
		}
	}
	n := part.points(total)
	m := newMeter(stderr)
	m.start(n, s.name)
	defer m.end()
	m.add(out.rows)
	// A point leaves little behind and the command keeps less: what is collected rarely
	// costs some tens of megabytes.
	if os.Getenv("GOGC") == "" {
		const percent = 800
		defer debug.SetGCPercent(debug.SetGCPercent(percent))
	}
	timers := make([]*pointTimer, min(f.workers, max(1, n-out.rows)))
	for i := range timers {
		if timers[i], err = s.timer(); err != nil {
			return err
		}
	}
	var rows [][]string // of the page
	err = inOrder(out.rows, n, len(timers),
		func(worker, k int) []string { return timers[worker].row(part.point(k)) },
		func(row []string) error {
			m.add(1)
			if f.html != "" {
				rows = append(rows, row)
			}
			if best != nil {
				best.add(row)
				return nil
			}
			return out.write(row)
		})
	if err != nil {
		return err
	}
	if best != nil {
		m.end()
		for _, p := range best.points {
			if err := out.write(p.row); err != nil {
				return err
			}
		}
	}
	if err := f.profilePoints(s, part); err != nil {
		return err
	}
	if f.html == "" {
		return nil
	}
	return f.writePage(s, rows)
}

// sweep reads the command line.
func (f *sweepFlags) sweep(args []string) (*sweep, error) {
	if len(args) == 0 {
		return nil, usage("missing operation or file: operations are %s", strings.Join(anesim.OperationNames(), " "))
	}
	fields := f.set
	f.set, f.timingOnly = nil, true
	o, err := f.options()
	if err != nil {
		return nil, err
	}
	o.Workers = 1
	s := &sweep{name: args[0], options: o}
	if !slices.Contains(anesim.OperationNames(), s.name) {
		if s.program, err = sweepFile(s.name); err != nil {
			return nil, err
		}
		for _, word := range args[1:] {
			if !strings.HasPrefix(word, chipKey) {
				return nil, usage("%s: a program has no keys; --set gives register values", word)
			}
		}
	}
	for i, word := range slices.Concat(args[1:], fields) {
		a, err := parseAxis(word)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(s.grid, func(b axis) bool { return a.name == b.name }) {
			return nil, usage("%s is given twice", a.name)
		}
		if i < len(args)-1 {
			s.keys++
		}
		s.grid = append(s.grid, a)
	}
	return s, nil
}

// sweepFile opens the program that a word names, or says that it names nothing.
func sweepFile(name string) (*anesim.Model, error) {
	if name == "-" {
		return nil, usage("sweep reads no program from standard input")
	}
	m, err := openModel(name, nil)
	switch {
	case err == nil && m.Kind() == anesim.KindNetwork:
		return nil, usage("%s is a network: anesim model %[1]s", escaped(name))
	case errors.As(err, new(*missingError)) && !strings.ContainsAny(name, "./"):
		text := fmt.Sprintf("%q is no file and no operation; operations are %s", name, strings.Join(anesim.OperationNames(), " "))
		if near := anesim.Nearest(name, anesim.OperationNames()); len(near) > 0 {
			text += fmt.Sprintf("; did you mean %s?", strings.Join(near, " or "))
		}
		return nil, usage("%s", text)
	}
	return m, err
}

// try looks at the first point, so that mistakes in keys and fields end the command.
func (s *sweep) try() error {
	t, err := s.timer()
	if err != nil {
		return err
	}
	values := s.grid.at(0)
	if err := t.set(values); err != nil {
		return &usageError{err}
	}
	_, err = s.model(values)
	if errors.As(err, new(*anesim.LayerError)) {
		return &usageError{err}
	}
	return nil
}

// model is what a point runs.
func (s *sweep) model(values []string) (*anesim.Model, error) {
	if s.program != nil {
		return s.program, nil
	}
	keys := make([]string, 0, s.keys)
	for i := range s.keys {
		if name := s.grid[i].name; !strings.HasPrefix(name, chipKey) {
			keys = append(keys, name+"="+values[i])
		}
	}
	return anesim.Layer(s.name, keys...)
}

// A pointTimer times points of a sweep one after the other.
type pointTimer struct {
	*sweep
	engine *anesim.Timer
	chip   bool // some axis is a constant of the chip
}

func (s *sweep) timer() (*pointTimer, error) {
	t, err := anesim.NewTimer(s.options)
	if err != nil {
		return nil, err
	}
	chip := slices.ContainsFunc(s.grid, func(a axis) bool { return strings.HasPrefix(a.name, chipKey) })
	return &pointTimer{s, t, chip}, nil
}

// set gives the engine the point's constants and register values.
func (t *pointTimer) set(values []string) error {
	c, overrides, err := t.settings(values)
	if err != nil {
		return err
	}
	if t.chip {
		if err := t.engine.Chip(c); err != nil {
			return err
		}
	}
	if t.keys < len(t.grid) {
		t.engine.Override(overrides)
	}
	return nil
}

// settings are the chip and the register values of a point.
func (s *sweep) settings(values []string) (c anesim.Chip, overrides []anesim.Override, err error) {
	c = s.options.Chip
	for i := range s.keys {
		name, ok := strings.CutPrefix(s.grid[i].name, chipKey)
		if !ok {
			continue
		}
		v, err := strconv.ParseFloat(values[i], 64)
		if err != nil {
			return c, nil, fmt.Errorf("%s=%s: not a number", s.grid[i].name, values[i])
		}
		if err := anesim.SetConstant(&c, name, v); err != nil {
			return c, nil, err
		}
	}
	for i := s.keys; i < len(s.grid); i++ {
		v, err := anesim.ParseOverride(s.grid[i].name + "=" + values[i])
		if err != nil {
			return c, nil, err
		}
		overrides = append(overrides, v)
	}
	return c, overrides, nil
}

func (s *sweep) header() []string {
	row := []string{"point", "program"}
	for _, a := range s.grid {
		row = append(row, a.name)
	}
	return append(row, resultColumns[:]...)
}

// resultColumns are the columns behind those that say which point a row is.
var resultColumns = [...]string{
	"descriptors", "cycles", "bound", "dma_bytes", "time_ns", "energy_nj", "dispatch_energy_nj", "macs", "tflops", "time_ns_low", "time_ns_high", "error",
}

// label is the columns of a row that say which point it is.
func (s *sweep) label(point int) []string {
	row := make([]string, 2, 2+len(s.grid)+len(resultColumns))
	row[0], row[1] = strconv.Itoa(point), s.name
	return append(row, s.grid.at(point)...)
}

// row times a point.
func (t *pointTimer) row(point int) []string {
	row := t.label(point)
	refused := func(err error) []string {
		row = append(row, make([]string, len(resultColumns)-1)...)
		return append(row, escaped(err.Error()))
	}
	if err := t.set(row[2:]); err != nil {
		return refused(err)
	}
	m, err := t.model(row[2:])
	if err != nil {
		return refused(err)
	}
	r, err := t.engine.Time(context.Background(), m)
	if err != nil {
		return refused(err)
	}
	fault := ""
	if len(r.Faults) > 0 {
		fault = "device fault: " + r.Faults[0].String()
	}
	a := r.Accounting()
	low, high := r.Interval()
	return append(row, strconv.Itoa(len(r.Descriptors)), strconv.FormatUint(uint64(r.Cycles), 10), a.Bound(),
		strconv.FormatUint(r.DMA.Total(), 10), number(r.Time), number(r.Energy), number(r.Dispatch),
		strconv.FormatUint(r.MACs, 10), number(anesim.RatesOf(r).TFLOPS), number(low), number(high), escaped(fault))
}
