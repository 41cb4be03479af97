package command

import (
	"errors"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"anesim"
	"anesim/firmware"
	"anesim/loader"
	"anesim/loader/network"
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
		RunE: func(c *cobra.Command, args []string) error {
			return f.run(c.OutOrStdout(), c.ErrOrStderr(), args)
		},
	}
	s := c.Flags()
	f.registerOnly(s, "chip", "seed", "gate-tiles", "set", "repeat", "init")
	s.Lookup("seed").Usage = "seed of the weights"
	s.Lookup("set").Usage = "register values, `GROUP.REGISTER.FIELD=VALUES`; repeatable"
	s.StringVar(&f.resume, "resume", "", "write rows to `FILE`, behind those it has")
	s.StringVar(&f.shard, "shard", "", "the `I/N` part of the points")
	s.IntVar(&f.workers, "workers", runtime.GOMAXPROCS(0), "points at a time")
	return c
}

// A sweep is a grid over layers or a program.
type sweep struct {
	op      *network.Operation // nil of a program
	program []byte
	name    string // of the operation or file
	keys    int    // axes that are keys of the layer; the rest are register fields
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
		return usage("--workers %d: want 1 or more", f.workers)
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
	m := newMeter(stderr, n, s.name)
	defer m.done()
	m.add(out.rows)
	return inOrder(out.rows, n, f.workers,
		func(k int) []string { return s.row(part.point(k)) },
		func(row []string) error {
			m.add(1)
			return out.write(row)
		})
}

// sweep reads the command line.
func (f *sweepFlags) sweep(args []string) (*sweep, error) {
	if len(args) == 0 {
		return nil, usage("which operation or file? Operations are %s", strings.Join(network.Names(), " "))
	}
	fields := f.set
	f.set, f.timingOnly = nil, true
	o, err := f.options()
	if err != nil {
		return nil, err
	}
	o.Workers = 1
	s := &sweep{name: args[0], options: o}
	if op, ok := network.Find(args[0]); ok {
		s.op = op
	} else if s.program, err = os.ReadFile(args[0]); err != nil {
		if !strings.ContainsAny(args[0], "./") {
			return nil, usage("%q is no file and no operation; operations are %s", args[0], strings.Join(network.Names(), " "))
		}
		return nil, err
	} else if len(args) > 1 {
		return nil, usage("%s: a program has no keys; --set gives register values", args[1])
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

// try looks at the first point, so that mistakes in keys and fields end the command.
func (s *sweep) try() error {
	values := s.grid.at(0)
	if _, err := s.overrides(values); err != nil {
		return &usageError{err}
	}
	if s.op == nil {
		_, err := s.programOf(values)
		if err != nil {
			return inFile(s.name, err)
		}
		return nil
	}
	_, err := s.layer(values)
	var key *network.KeyError
	if errors.As(err, &key) {
		return &usageError{err}
	}
	return nil
}

func (s *sweep) overrides(values []string) ([]firmware.Override, error) {
	var list []firmware.Override
	for i := s.keys; i < len(s.grid); i++ {
		v, err := firmware.ParseOverride(s.grid[i].name + "=" + values[i])
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

func (s *sweep) layer(values []string) (*network.Layer, error) {
	keys := make(map[string]string)
	for i := range s.keys {
		keys[s.grid[i].name] = values[i]
	}
	l, err := s.op.Single(keys)
	if err == nil {
		l.Name = s.op.Name
	}
	return l, err
}

// programOf is the program of a point.
func (s *sweep) programOf(values []string) (*loader.Program, error) {
	if s.op == nil {
		return loader.Read(s.name, strings.NewReader(string(s.program)), int64(len(s.program)))
	}
	l, err := s.layer(values)
	if err != nil {
		return nil, err
	}
	return lowerLayer(l, s.options.Seed)
}

// time runs a point.
func (s *sweep) time(values []string) (*anesim.Result, error) {
	o := s.options
	var err error
	if o.Overrides, err = s.overrides(values); err != nil {
		return nil, err
	}
	p, err := s.programOf(values)
	if err != nil {
		return nil, err
	}
	return anesim.Run(p, o)
}

func (s *sweep) header() []string {
	row := []string{"point", "program"}
	for _, a := range s.grid {
		row = append(row, a.name)
	}
	return append(row, "descriptors", "cycles", "bound", "dma_bytes", "time_ns", "energy_nj", "macs", "tflops", "error")
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
		row = append(row, make([]string, 8)...)
		return append(row, legible(err.Error()))
	}
	r := res.Report
	a := r.Accounting()
	fault := ""
	if len(r.Faults) > 0 {
		fault = "device fault: " + r.Faults[0].String()
	}
	return append(row, strconv.Itoa(len(r.Descriptors)), strconv.FormatUint(uint64(r.Cycles), 10), a.Bound(),
		strconv.FormatUint(r.DMA.Total(), 10), number(float64(r.Time)), number(float64(r.Energy)),
		strconv.FormatUint(r.MACs, 10), number(tflops(r.MACs, r.Time)), legible(fault))
}
