package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"anesim"
	"anesim/bench/report"
	"anesim/tools/anesim/internal/outfile"
	"anesim/tools/anesim/internal/picture"
	"anesim/tools/anesim/internal/view"
)

// write writes the front's rows.
func (f *front) write(out *sweepOutput) error {
	for _, p := range f.points {
		if err := out.write(p.row); err != nil {
			return err
		}
	}
	return nil
}

// checkPicture refuses the name of a picture that is none, or that of a file that was read.
func checkPicture(file string, inputs ...string) error {
	if file == "" {
		return nil
	}
	if err := checkSVG("--plot", file); err != nil {
		return err
	}
	if err := outfile.Avoiding(file, inputs...); err != nil {
		return fmt.Errorf("--plot: %w", err)
	}
	return nil
}

// draw draws the first two goals.
func (f *front) draw(file, name, chip string) error {
	two := func(goals []float64) [2]float64 { return [2]float64{goals[0], goals[1]} }
	d := &picture.Front{X: f.goals[0].label(), Y: f.goals[1].label(), Of: f.cloud.seen}
	for _, goals := range f.cloud.points {
		d.All = append(d.All, two(goals))
	}
	for i := range f.points {
		d.Best = append(d.Best, two(f.points[i].goals))
	}
	p := d.Draw()
	if p == nil {
		return fmt.Errorf("front: %w: no point has figures", errNothing)
	}
	return outfile.Write(file, p.File(p.Caption(&view.Report{Name: name, Chip: chip, Tool: anesim.ThisTool()})...))
}

// frontFlags are the flags of sweep front.
type frontFlags struct {
	picture  string
	programs int
}

func frontCommand() *cobra.Command {
	var f frontFlags
	c := &cobra.Command{
		Use:   "front GOALS FILE...",
		Short: "Print the Pareto front of a sweep's rows",
		Long: `Front reads the rows of a sweep, or of all its shards in any order, and prints those that
no other is better than in every one of GOALS, which are those of anesim sweep --pareto. Of
a sweep of several programs, --programs says how many: a design is as many rows.`,
		Example: `  anesim sweep front time,energy grid.csv
  anesim sweep front time,area 1.csv 2.csv 3.csv --programs 2 --plot front.svg`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usage("%s requires goals and a file", c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			return f.run(c.OutOrStdout(), args[0], args[1:])
		},
	}
	c.Flags().StringVar(&f.picture, "plot", "", "draw the front to `OUT`.svg as well")
	c.Flags().IntVar(&f.programs, "programs", 1, "how many `PROGRAMS` the sweep has")
	return c
}

func (f *frontFlags) run(w io.Writer, goals string, names []string) error {
	if f.programs < 1 || f.programs > maxWorkloads {
		return usage("--programs %d: must be between 1 and %d", f.programs, maxWorkloads)
	}
	if err := checkPicture(f.picture, names...); err != nil {
		return err
	}
	files, closing, err := openShards(names)
	defer closing()
	if err != nil {
		return err
	}
	if err := files[0].start(); err != nil {
		return err
	}
	header := files[0].row
	best, err := newFront(goals, "goal", header, f.programs)
	if err != nil {
		return err
	}
	total, err := mergeRows(files, func(m *mergeFile) error {
		best.add(m.row)
		return nil
	})
	if err != nil {
		return err
	}
	if total%f.programs != 0 {
		return fmt.Errorf("%d rows are not those of %s", total, report.Plural(f.programs, "program"))
	}
	out := &sweepOutput{w: w, header: header}
	if err := best.write(out); err != nil {
		return err
	}
	if err := out.finish(); err != nil {
		return err
	}
	if f.picture == "" {
		return nil
	}
	return best.draw(f.picture, filepath.Base(names[0]), "of the sweep")
}

// openShards opens files of rows.
func openShards(names []string) (files []*mergeFile, closing func(), err error) {
	closing = func() {
		for _, f := range files {
			f.file.Close()
		}
	}
	if len(names) > maxMergeFiles {
		return nil, closing, usage("%d files; at most %d at a time", len(names), maxMergeFiles)
	}
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return files, closing, err
		}
		files = append(files, &mergeFile{name: name, file: f})
		if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
			return files, closing, inFile(name, errors.Join(err, errors.New("is not a regular file")))
		}
	}
	return files, closing, nil
}
