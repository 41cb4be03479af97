package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
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
--set fields.

Values are joined by commas; each is a word or a range:

  64,128,256     these
  1..5           1 2 3 4 5
  16..64+16      16 32 48 64
  64..512*2      64 128 256 512

A layer that is refused and a point where the device faults are rows too, with the
reason in the last column. --resume FILE writes to FILE and goes on behind the last
complete row in it; --shard 2/8 takes points 2, 10, 18, ... of the grid.`,
		Example: `  anesim sweep conv cin=64,128,256 h=14,28 w=14,28 cout=64..512*2 k=1,3 pad=same
  anesim sweep add.hwx --set PE.Cfg.OpMode=0..3`,
		ValidArgsFunction: operationWords,
		RunE: func(c *cobra.Command, args []string) error {
			return f.run(c.OutOrStdout(), c.ErrOrStderr(), args)
		},
	}
	s := c.Flags()
	f.registerOnly(s, "chip", "seed", "gate-tiles", "set", "repeat", "init", "html")
	s.Lookup("seed").Usage = "seed of the weights"
	s.Lookup("set").Usage = "register values, `GROUP.REGISTER.FIELD=VALUES`; repeatable"
	s.StringVar(&f.resume, "resume", "", "write rows to `FILE`, behind those it has")
	s.StringVar(&f.shard, "shard", "", "the `I/N` part of the points")
	s.IntVar(&f.workers, "workers", runtime.GOMAXPROCS(0), "points at a time")
	completeFlags(c)
	return c
}

// A sweep is a grid over layers or a program.
type sweep struct {
	program *anesim.Model // nil of an operation
	name    string        // of the operation or file
	keys    int           // axes that are keys of the layer; the rest are register fields
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
	if f.workers < 1 {
		return usage("--workers %d: must be 1 or more", f.workers)
	}
	total, err := s.grid.points()
	if err != nil {
		return err
	}
	if err := s.try(); err != nil {
		return err
	}
	out := &sweepOutput{w: stdout, header: s.header()}
	if f.resume != "" {
		file, err := os.OpenFile(f.resume, os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			return err
		}
		defer file.Close()
		if err := out.resume(file, func(row int) []string { return s.label(part.point(row)) }); err != nil {
			return inFile(f.resume, err)
		}
	}
	n := part.points(total)
	if out.rows > n {
		return inFile(f.resume, errors.New("it has more rows than the grid"))
	}
	m := newMeter(stderr)
	m.start(n, s.name)
	defer m.end()
	m.add(out.rows)
	var rows [][]string // of the page
	err = inOrder(out.rows, n, f.workers,
		func(k int) []string { return s.row(part.point(k)) },
		func(row []string) error {
			m.add(1)
			if f.html != "" {
				rows = append(rows, row)
			}
			return out.write(row)
		})
	if err != nil || f.html == "" {
		return err
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
		if len(args) > 1 {
			return nil, usage("%s: a program has no keys; --set gives register values", args[1])
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
	values := s.grid.at(0)
	var o anesim.Options
	if err := s.override(&o, values); err != nil {
		return &usageError{err}
	}
	_, err := s.model(values)
	if errors.As(err, new(*anesim.LayerError)) {
		return &usageError{err}
	}
	return nil
}

// override adds the point's register values to the options.
func (s *sweep) override(o *anesim.Options, values []string) error {
	for i := s.keys; i < len(s.grid); i++ {
		v, err := anesim.ParseOverride(s.grid[i].name + "=" + values[i])
		if err != nil {
			return err
		}
		o.Overrides = append(o.Overrides, v)
	}
	return nil
}

// model is what a point runs.
func (s *sweep) model(values []string) (*anesim.Model, error) {
	if s.program != nil {
		return s.program, nil
	}
	var keys []string
	for i := range s.keys {
		keys = append(keys, s.grid[i].name+"="+values[i])
	}
	return anesim.Layer(s.name, keys...)
}

// time runs a point.
func (s *sweep) time(values []string) (*anesim.Result, error) {
	o := s.options
	if err := s.override(&o, values); err != nil {
		return nil, err
	}
	m, err := s.model(values)
	if err != nil {
		return nil, err
	}
	return m.Run(context.Background(), o)
}

func (s *sweep) header() []string {
	row := []string{"point", "program"}
	for _, a := range s.grid {
		row = append(row, a.name)
	}
	return append(row, "descriptors", "cycles", "bound", "dma_bytes", "time_ns", "energy_nj", "dispatch_energy_nj", "macs", "tflops", "error")
}

// label is the columns of a row that say which point it is.
func (s *sweep) label(point int) []string {
	return append([]string{strconv.Itoa(point), s.name}, s.grid.at(point)...)
}

// row times a point.
func (s *sweep) row(point int) []string {
	row := s.label(point)
	res, err := s.time(row[2:])
	if err != nil {
		row = append(row, make([]string, 9)...)
		return append(row, escaped(err.Error()))
	}
	r := res.RunDocument()
	fault := ""
	if faults := res.Report.Faults; len(faults) > 0 {
		fault = "device fault: " + faults[0].String()
	}
	a, t := res.Causes(), &r.Total
	return append(row, strconv.Itoa(len(r.Descriptors)), strconv.FormatUint(t.Cycles, 10), a.Bound(),
		strconv.FormatUint(t.DMABytes, 10), number(t.TimeNs), number(t.EnergyNJ), number(t.DispatchNJ),
		strconv.FormatUint(t.MACs, 10), number(t.TFLOPS), escaped(fault))
}
