package sweepcommand

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"anesim"
	"anesim/bench/report"
	"anesim/bench/sweep"
	"anesim/hw"
	"anesim/hw/spelling"
	"anesim/loader/network/keys"
	"anesim/tools/anesim/internal/flags"
	"anesim/tools/anesim/internal/input"
	"anesim/tools/anesim/internal/page"
	"anesim/tools/anesim/internal/terminal"
	"anesim/tools/anesim/internal/usage"
	"anesim/tools/anesim/internal/view"
)

// writeSweepPage writes the page of a sweep's rows.
func (f *sweepFlags) writePage(s *sweep.Sweep, rows [][]string) error {
	if f.resume != "" { // the file has the rows of earlier runs as well
		data, err := os.ReadFile(f.resume)
		if err != nil {
			return err
		}
		all, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
		if err != nil || len(all) == 0 {
			return input.InFile(f.resume, err)
		}
		rows = all[1:]
	}
	columns := s.Header()
	last := len(columns) - 1 // the origin, the same in all rows
	short := make([][]string, len(rows))
	for i, row := range rows {
		short[i] = row[:last]
	}
	d := &view.Sweep{Header: report.NewHeader(), Name: s.Name, Chip: s.Options.Chip.Name, Columns: columns[:last], Rows: short}
	return page.WriteFile(f.HTML, view.OfSweep(d, report.Peak(&s.Options.Chip)), page.Options{}, s.Files()...)
}

// sweepFlags are the flags of sweep.
type sweepFlags struct {
	flags.Run
	resume  string
	shard   string
	area    string
	pareto  string
	picture string
	workers int
}

func New() *cobra.Command {
	var f sweepFlags
	c := &cobra.Command{
		Use:   "sweep OP|FILE... key=values...",
		Short: "Time a grid of layers, networks, chips and register values, CSV out",
		Long: `Sweep times every combination of values: of a layer's keys (anesim layer -h), of constants
of the chip, of register fields. Values of tensors are not computed. What is timed is an
operation with its keys, or the programs and networks in files; several of them are timed
on every chip, and a layer among them has its keys with it, in quotes.

The points run on all processors; the rows come in the grid's order, the last key changing
fastest, then the --set fields, then the programs where there are several. A key like
chip.Clock varies a constant of the chip (anesim chip m1 lists them). Every row has the
bounds of its time, which hold ` + hw.IntervalWords + ` measurements.

Values are joined by commas; each is a word or a range:

  64,128,256     these
  1..5           1 2 3 4 5
  16..64+16      16 32 48 64
  64..512*2      64 128 256 512
  1e9..2e9+0.5e9 1e9 1.5e9 2e9, of a chip's constant alone

A layer that is refused and a point where the device faults are rows too, with the reason
in the last column; so is a network of which a part is not modelled.

--pareto time,energy prints only the designs that no other is better than in both, once
all are timed. A goal is time, energy, power (the mean, with the dispatch's energy), dma,
area or a chip. key, and less of it is better; of several programs it is their sum. --area
gives a proxy of the chip's area, a sum of products of its constants, which is a column.
--plot draws the first two goals. For the best constants within a budget, without a grid,
see anesim sweep optimise.

--resume FILE writes to FILE and goes on behind the last complete row in it, whatever
stopped it; --shard 2/8 takes points 2, 10, 18, ... of the grid. The shards' files say how
far they are (anesim sweep status), and anesim sweep merge puts them together again.
The rows become a Parquet file with tools/parquet, a module of its own.`,
		Example: `  anesim sweep conv cin=64,128,256 h=14,28 w=14,28 cout=64..512*2 k=1,3 pad=same
  anesim sweep add.hwx --set PE.Cfg.OpMode=0..3
  anesim sweep conv cin=64 h=56 w=56 cout=64 k=3 chip.ReadRate=20e9..60e9+10e9 --pareto time,chip.ReadRate
  anesim sweep resnet50.yaml 'matmul m=512 k=512 n=512' chip.Engines=8,16,32 chip.MACs=128,256 \
      --area '2 + 0.003*Engines*MACs' --pareto time,energy,area --plot front.svg`,
		ValidArgsFunction: flags.OperationWords,
		RunE: func(c *cobra.Command, args []string) error {
			return f.run(c.OutOrStdout(), c.ErrOrStderr(), args)
		},
	}
	s := c.Flags()
	f.RegisterOnly(s, "chip", "seed", "gate-tiles", "set", "init", "pprof", "trace", "html")
	s.Lookup("seed").Usage = "seed of the weights"
	s.Lookup("set").Usage = "register values, `GROUP.REGISTER.FIELD=VALUES`; repeatable"
	s.StringVar(&f.resume, "resume", "", "write rows to `FILE`, behind those it has")
	s.StringVar(&f.shard, "shard", "", "the `I/N` part of the points")
	refuseParquet(s)
	s.StringVar(&f.area, "area", "", "a proxy of the chip's area as a column, an `EXPRESSION` like '2 + 0.003*Engines*MACs'")
	s.StringVar(&f.pareto, "pareto", "", "print the Pareto front over these `GOALS`")
	s.StringVar(&f.picture, "plot", "", "draw the front to `OUT`.svg as well")
	s.IntVar(&f.workers, "workers", runtime.GOMAXPROCS(0), "points at a time")
	flags.CompleteFlags(c)
	c.AddCommand(mergeCommand(), statusCommand(), frontCommand(), optimiseCommand())
	return c
}

// maxWorkers bounds the points at a time: more than any machine has processors.
const maxWorkers = 1 << 12

// maxPagePoints bounds the points of a page, which are all in memory and in the file.
const maxPagePoints = 1 << 16

func (f *sweepFlags) run(stdout, stderr io.Writer, args []string) error {
	s, err := f.sweep(args)
	if err != nil {
		return err
	}
	part, err := sweep.ParseShard(f.shard)
	if err != nil {
		return usage.Errorf("--shard %v", err)
	}
	if f.workers < 1 || f.workers > maxWorkers {
		return usage.Errorf("--workers %d: must be between 1 and %d", f.workers, maxWorkers)
	}
	best, err := f.front(s)
	if err != nil {
		return err
	}
	total, err := s.Points()
	if err != nil {
		return err
	}
	if f.HTML != "" && total > maxPagePoints {
		return usage.Errorf("--html: a page of %d points; it has at most %d", total, maxPagePoints)
	}
	if err := s.CheckFirstPoint(); err != nil {
		return err
	}
	n := part.Points(total)
	if (f.Pprof != "" || f.Trace != "") && n > maxProfiled {
		return usage.Errorf("--pprof and --trace take at most %d points, not %d: --shard makes fewer of them", maxProfiled, n)
	}
	out := sweep.NewOutput(stdout, s.Header())
	if f.resume != "" {
		file, err := sweep.OpenRows(f.resume)
		if err != nil {
			return err
		}
		defer file.Close()
		if err := out.Resume(file, n, s.Origin, func(row int) []string { return s.Label(part.Point(row)) }); err != nil {
			return input.InFile(f.resume, err)
		}
	}
	var rows [][]string // of the page
	err = f.time(stderr, s, part, out.Rows, n, func(row []string) error {
		if f.HTML != "" {
			rows = append(rows, row)
		}
		if best != nil {
			best.Add(row)
			return nil
		}
		return out.Write(row)
	}, out.Flush)
	if err != nil {
		return err
	}
	if best != nil {
		if err := best.Write(out); err != nil {
			return err
		}
	}
	if err := out.Finish(); err != nil {
		return err
	}
	if f.picture != "" {
		if err := drawFront(best, f.picture, s.Name, s.Options.Chip.Name); err != nil {
			return err
		}
	}
	if err := f.profilePoints(s, part); err != nil {
		return err
	}
	if f.HTML == "" {
		return nil
	}
	return f.writePage(s, rows)
}

// time times the points of a shard from the first on, with a meter.
func (f *sweepFlags) time(stderr io.Writer, s *sweep.Sweep, part sweep.Shard, first, n int, write func([]string) error, idle func() error) error {
	m := terminal.NewMeter(stderr)
	m.Start(n, s.Name)
	defer m.End()
	m.Add(first)
	// A point leaves little behind and the command keeps less: what is collected rarely
	// costs some tens of megabytes.
	if os.Getenv("GOGC") == "" {
		const percent = 800
		defer debug.SetGCPercent(debug.SetGCPercent(percent))
	}
	return s.Time(part, first, n, f.workers, func(row []string) error {
		m.Add(1)
		return write(row)
	}, idle)
}

// sweep reads the command line.
func (f *sweepFlags) sweep(args []string) (*sweep.Sweep, error) {
	o, err := f.shared()
	if err != nil {
		return nil, err
	}
	return sweep.New(&sweep.Description{Words: args, Fields: f.Set, Area: f.area, Options: o, Open: sweepFile})
}

// shared are the options that all points of a sweep have.
func (f *sweepFlags) shared() (anesim.Options, error) {
	g := f.Run
	g.Set, g.TimingOnly = nil, true
	return g.Options()
}

// sweepFile opens the model that a word names, or says that it names nothing.
func sweepFile(name string) (*anesim.Model, error) {
	if name == "-" {
		return nil, usage.Errorf("sweep reads no program from standard input")
	}
	m, err := input.OpenModel(name, nil)
	if errors.As(err, new(*input.MissingError)) && !strings.ContainsAny(name, "./") {
		names := keys.Names()
		return nil, usage.Errorf("%q is no file and no operation; operations are %s%s", name, strings.Join(names, " "), spelling.Suggest(name, names))
	}
	return m, err
}

// front is the one that the flags ask for, nil for none.
func (f *sweepFlags) front(s *sweep.Sweep) (*sweep.Front, error) {
	switch {
	case f.picture != "" && f.pareto == "":
		return nil, usage.Errorf("--plot requires --pareto")
	case f.pareto == "":
		return nil, nil
	case f.resume != "":
		return nil, usage.Errorf("--pareto and --resume are mutually exclusive: a front is known once all points are timed; anesim sweep front reads them")
	case f.shard != "":
		return nil, usage.Errorf("--pareto and --shard are mutually exclusive: anesim sweep front reads the shards' files")
	}
	if err := checkPicture(f.picture, s.Files()...); err != nil {
		return nil, err
	}
	best, err := sweep.NewFront(f.pareto, s.Header(), s.Programs())
	if err != nil {
		return nil, usage.Errorf("--pareto %v", err)
	}
	return best, nil
}
