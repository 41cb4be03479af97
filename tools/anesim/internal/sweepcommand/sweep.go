package sweepcommand

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"anesim"
	"anesim/hw"
	"anesim/internal/network/keys"
	"anesim/internal/outfile"
	"anesim/internal/report"
	"anesim/internal/spelling"
	"anesim/internal/sweep"
	"anesim/tools/anesim/internal/flags"
	"anesim/tools/anesim/internal/input"
	"anesim/tools/anesim/internal/page"
	"anesim/tools/anesim/internal/terminal"
	"anesim/tools/anesim/internal/usage"
	"anesim/tools/anesim/internal/view"
)

// writePage writes the rows of a sweep as an HTML page. With --resume, it reads the rows from the
// file, which also has those of earlier runs.
func (f *sweepFlags) writePage(s *sweep.Sweep, rows [][]string) error {
	if f.resume != "" { // the file also has the rows of earlier runs
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
	last := len(columns) - 1 // the origin column, equal in all rows
	short := make([][]string, len(rows))
	for i, row := range rows {
		short[i] = row[:last]
	}
	d := &view.Sweep{Header: report.NewHeader(), Name: s.Name, Chip: s.Options.Chip.Name, Columns: columns[:last], Rows: short}
	return page.WriteFile(f.HTML, view.FromSweep(d, report.Peak(&s.Options.Chip)), page.Options{})
}

// sweepFlags holds the flags of sweep.
type sweepFlags struct {
	plan *outfile.Plan
	flags.Run
	flags.Dims
	resume  string
	shard   string
	area    string
	pareto  string
	picture string
	workers int
}

// New returns the sweep command with its subcommands. They add the files that they read to plan.
func New(plan *outfile.Plan) *cobra.Command {
	f := sweepFlags{plan: plan}
	c := &cobra.Command{
		Use:   "sweep OP|FILE... key=values...",
		Short: "Time a grid of layers, networks, chips and register values as CSV",
		Long: `Sweep times every combination of values of a layer's keys (anesim layer -h), of constants
of the chip and of register fields. It does not compute values of tensors. It times an
operation with its keys, or the programs and networks in files. Several of them are timed
on every chip; a layer among several is quoted together with its keys.

The points run on all processors. The rows are in the order of the grid: the programs
change fastest, then the --set fields, then the last key. A key like chip.Clock varies a
constant of the chip (anesim chip m1 lists them). Every row has the interval of its time,
which is made to contain ` + hw.IntervalWords + ` measurements. With --machine, rows also have
the time of a call, wall_ns, which includes the host of that machine; time_ns is of the
engine alone.

Values are separated by commas. Each is a word or a range:

  64,128,256     these
  1..5           1 2 3 4 5
  16..64+16      16 32 48 64
  64..512*2      64 128 256 512
  1e9..2e9+0.5e9 1e9 1.5e9 2e9, for constants of the chip only

A refused layer, a device fault and a network that is not modelled completely have a row
with the reason in the error column.

--pareto time,energy prints only the designs that no other design beats in both goals,
after all are timed. A goal is time, energy, power (the mean, with the dispatch's energy),
dma, area or a chip. key; it is minimized, and summed over several programs. With
--machine, time is that of a call. --area adds a column with an estimate of the chip's
area, a sum of products of its constants. --plot draws the first two goals. To find the
best constants within a budget, see anesim sweep optimize.

--resume FILE writes to FILE and continues after its last complete row. --shard 2/8 takes
points 2, 10, 18, ... of the grid. anesim sweep status reports the progress of shards, and
anesim sweep merge merges their files. tools/parquet, a separate module, converts the rows
to a Parquet file.`,
		Example: `  anesim sweep conv cin=64,128,256 h=14,28 w=14,28 cout=64..512*2 k=1,3 pad=same
  anesim sweep add.hwx --set PE.Cfg.OpMode=0..3
  anesim sweep conv cin=64 h=56 w=56 cout=64 k=3 chip.ReadRate=20e9..60e9+10e9 --pareto time,chip.ReadRate
  anesim sweep resnet50.yaml 'matmul m=512 k=512 n=512' chip.Engines=8,16,32 chip.MACs=128,256 \
      --area '2 + 0.003*Engines*MACs' --pareto time,energy,area --plot front.svg`,
		ValidArgsFunction: flags.CompleteLayer,
		RunE: func(c *cobra.Command, args []string) error {
			return f.run(c.OutOrStdout(), c.ErrOrStderr(), args)
		},
	}
	s := c.Flags()
	f.RegisterOnly(s, "chip", "machine", "clock", "seed", "gate-tiles", "set", "init", "pprof", "trace", "html")
	f.Dims.Register(s)
	s.Lookup("seed").Usage = "seed of the weights"
	s.Lookup("set").Usage = "register values, `GROUP.REGISTER.FIELD=VALUES`; repeatable"
	s.StringVar(&f.resume, "resume", "", "write rows to `FILE`, after those it already has")
	s.StringVar(&f.shard, "shard", "", "time part `I/N` of the points")
	addRefusedParquetFlag(s)
	s.StringVar(&f.area, "area", "", "add a column with the chip's area, an `EXPRESSION` like '2 + 0.003*Engines*MACs'")
	s.StringVar(&f.pareto, "pareto", "", "print the Pareto front over these `GOALS`")
	s.StringVar(&f.picture, "plot", "", "also draw the front to `OUT`.svg")
	s.IntVar(&f.workers, "workers", runtime.GOMAXPROCS(0), "number of points to time at the same time")
	flags.CompleteFlags(c)
	c.AddCommand(mergeCommand(), statusCommand(), frontCommand(), optimizeCommand(plan))
	return c
}

// maxWorkers is the most points that are timed at the same time, more than any machine has
// processors.
const maxWorkers = 1 << 12

// maxPagePoints is the most points of an HTML page, which are all kept in memory and written to
// the page.
const maxPagePoints = 1 << 16

func (f *sweepFlags) run(stdout, stderr io.Writer, args []string) error {
	s, err := f.newSweep(args)
	if err != nil {
		return err
	}
	part, err := sweep.ParseShard(f.shard)
	if err != nil {
		return usage.Errorf("--shard: %v", err)
	}
	if f.workers < 1 || f.workers > maxWorkers {
		return usage.Errorf("--workers %d: want 1 to %d", f.workers, maxWorkers)
	}
	best, err := f.newFront(s)
	if err != nil {
		return err
	}
	n, err := f.countPoints(s, part)
	if err != nil {
		return err
	}
	out := sweep.NewOutput(stdout, s.Header())
	if f.resume != "" {
		file, err := sweep.OpenRows(f.resume)
		if err != nil {
			return err
		}
		defer file.Close()
		label := func(row int) []string { return s.Label(part.Point(row)) }
		compute := func(row int) ([]string, error) { return s.Row(part.Point(row)) }
		if err := out.Resume(file, n, s.Origin, label, compute); err != nil {
			return input.InFile(f.resume, err)
		}
	}
	var rows [][]string // rows of the page
	failed := 0
	problem := slices.Index(s.Header(), "error")
	err = f.timePoints(stderr, s, part, out.Rows, n, func(row []string) error {
		if problem >= 0 && row[problem] != "" {
			failed++
		}
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
	if failed > 0 {
		fmt.Fprintf(stderr, "anesim: %d of %s without a complete cost; the column error has the reasons\n", failed, report.Plural(n, "point"))
	}
	return f.writeFiles(s, part, best, rows)
}

// writeFiles writes the picture of the front, the profile, the trace and the page that the flags
// name, if any.
func (f *sweepFlags) writeFiles(s *sweep.Sweep, part sweep.Shard, best *sweep.Front, rows [][]string) error {
	if f.picture != "" {
		if err := drawFront(best, f.picture, s.Name, s.Options.Chip.Name); err != nil {
			return err
		}
	}
	if err := f.writePointProfiles(s, part); err != nil {
		return err
	}
	if f.HTML == "" {
		return nil
	}
	return f.writePage(s, rows)
}

// countPoints returns the number of points of a shard. It returns an error if the sweep has too many
// points for the outputs that the flags select, or if its first point cannot be built.
func (f *sweepFlags) countPoints(s *sweep.Sweep, part sweep.Shard) (int, error) {
	total, err := s.Points()
	if err != nil {
		return 0, err
	}
	if f.HTML != "" && total > maxPagePoints {
		return 0, usage.Errorf("--html: found %d points; want at most %d", total, maxPagePoints)
	}
	if err := s.CheckFirstPoint(); err != nil {
		return 0, err
	}
	n := part.Points(total)
	if (f.Pprof != "" || f.Trace != "") && n > maxProfiled {
		return 0, usage.Errorf("--pprof and --trace: found %d points; want at most %d; time fewer with --shard", n, maxProfiled)
	}
	return n, nil
}

// timePoints times the points of a shard, beginning with point first, and shows a progress meter on
// stderr. It passes the rows to write, and calls wait while no row is ready.
func (f *sweepFlags) timePoints(stderr io.Writer, s *sweep.Sweep, part sweep.Shard, first, n int, write func([]string) error, wait func() error) error {
	m := terminal.NewMeter(stderr)
	m.Start(n, s.Name)
	defer m.End()
	m.Add(first)
	// Points leave little live memory, so that collecting rarely costs only some tens of
	// megabytes.
	if os.Getenv("GOGC") == "" {
		const percent = 800
		defer debug.SetGCPercent(debug.SetGCPercent(percent))
	}
	return s.Time(part, first, n, f.workers, func(row []string) error {
		m.Add(1)
		return write(row)
	}, wait)
}

// newSweep returns the sweep that the command line describes.
func (f *sweepFlags) newSweep(args []string) (*sweep.Sweep, error) {
	o, err := f.newPointOptions()
	if err != nil {
		return nil, err
	}
	return sweep.New(&sweep.Description{Words: args, Fields: f.Set, Area: f.area, Options: o, Open: f.newModelOpener(args), Dims: f.Dims.Origin()})
}

// newPointOptions returns the options that all points of a sweep share.
func (f *sweepFlags) newPointOptions() (anesim.Options, error) {
	g := f.Run
	g.Set, g.TimingOnly = nil, true
	return g.Options()
}

// newModelOpener returns a function that opens a file that words name, with the sizes of --dim. If
// there is no such file and its name looks like an operation, the error lists the operations.
func (f *sweepFlags) newModelOpener(words []string) func(name string) (*anesim.Model, error) {
	files := slices.DeleteFunc(slices.Clone(words), func(word string) bool { return strings.Contains(word, "=") })
	return func(name string) (*anesim.Model, error) {
		if name == "-" {
			return nil, usage.Errorf("sweep cannot read a program from standard input")
		}
		m, err := f.Dims.Open(anesim.OpenOptions{}, name, files, nil)
		if errors.As(err, new(*input.MissingError)) && !strings.ContainsAny(name, "./") {
			names := keys.Names()
			return nil, usage.Errorf("unknown file or operation %q; want a file or one of %s%s", name, strings.Join(names, " "), spelling.Suggest(name, names))
		}
		if err == nil {
			err = f.plan.Read(m.Files()...)
		}
		return m, err
	}
}

// checkGoals returns an error if a list of goals has the energy or the power of a machine whose energies are not
// known.
func checkGoals(goals string, s *sweep.Sweep) error {
	m := s.Options.Machine
	if m == nil || !m.Scaled {
		return nil
	}
	for goal := range strings.SplitSeq(goals, ",") {
		if name, _, _ := strings.Cut(goal, "="); name == "energy" || name == "power" {
			return fmt.Errorf("the %s of %s is not known, because programs of its generation are not modelled", name, m.Noun())
		}
	}
	return nil
}

// newFront returns an empty front with the goals of --pareto, or nil without that flag.
func (f *sweepFlags) newFront(s *sweep.Sweep) (*sweep.Front, error) {
	switch {
	case f.picture != "" && f.pareto == "":
		return nil, usage.Errorf("--plot requires --pareto")
	case f.pareto == "":
		return nil, nil
	case f.resume != "":
		return nil, usage.Errorf("--pareto and --resume are mutually exclusive; use anesim sweep front on the complete file")
	case f.shard != "":
		return nil, usage.Errorf("--pareto and --shard are mutually exclusive; use anesim sweep front on the files of the shards")
	}
	if err := checkPictureName(f.picture); err != nil {
		return nil, err
	}
	if err := checkGoals(f.pareto, s); err != nil {
		return nil, usage.Errorf("--pareto: %v", err)
	}
	best, err := sweep.NewFront(f.pareto, s.Header(), s.Programs())
	if err != nil {
		return nil, usage.Errorf("--pareto: %v", err)
	}
	return best, nil
}
