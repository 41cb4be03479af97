package sweepcommand

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"anesim"
	"anesim/internal/outfile"
	"anesim/internal/sweep"
	"anesim/tools/anesim/internal/flags"
	"anesim/tools/anesim/internal/picture"
	"anesim/tools/anesim/internal/usage"
	"anesim/tools/anesim/internal/view"
)

// checkPictureName returns an error if file, the name of a picture, does not end in .svg. It accepts
// an empty name.
func checkPictureName(file string) error {
	if file == "" {
		return nil
	}
	return flags.CheckSVG("--plot", file)
}

// drawFront plots the first two goals of a front to an SVG file.
func drawFront(f *sweep.Front, file, name, chip string) error {
	plane := f.Plane()
	d := picture.Front(plane)
	p := d.Draw()
	if p == nil {
		return fmt.Errorf("no point of the Pareto front has a time: %w", picture.ErrNothing)
	}
	return outfile.Write(file, p.File(p.Caption(&view.Report{Name: name, Chip: chip, Tool: anesim.ThisTool()})...))
}

// frontFlags holds the flags of sweep front.
type frontFlags struct {
	picture  string
	programs int
}

func frontCommand() *cobra.Command {
	var f frontFlags
	c := &cobra.Command{
		Use:   "front GOALS FILE...",
		Short: "Print the Pareto front of a sweep's rows",
		Long: `Front reads the rows of a sweep, or of all its shards in any order, and prints the Pareto
front: the designs that no other design beats in all GOALS. Goals are those of anesim sweep
--pareto. If the sweep has several programs, --programs gives their number, which is the
number of rows per design.`,
		Example: `  anesim sweep front time,energy grid.csv
  anesim sweep front time,area 1.csv 2.csv 3.csv --programs 2 --plot front.svg`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usage.Errorf("%s: missing GOALS or FILE argument", c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.run(c.OutOrStdout(), args[0], args[1:]); err != nil {
				return err
			}
			return noteUnnamedBuild(c.ErrOrStderr(), args[1:])
		},
	}
	c.Flags().StringVar(&f.picture, "plot", "", "also draw the front to `OUT`.svg")
	c.Flags().IntVar(&f.programs, "programs", 1, "number of `PROGRAMS` of the sweep")
	return c
}

func (f *frontFlags) run(w io.Writer, goals string, names []string) error {
	if f.programs < 1 || f.programs > sweep.MaxPrograms {
		return usage.Errorf("--programs %d: want 1 to %d", f.programs, sweep.MaxPrograms)
	}
	if err := checkPictureName(f.picture); err != nil {
		return err
	}
	best, err := sweep.ReadFront(goals, f.programs, names)
	if err != nil {
		return err
	}
	out := sweep.NewOutput(w, best.Header)
	if err := best.Write(out); err != nil {
		return err
	}
	if err := out.Finish(); err != nil {
		return err
	}
	if f.picture == "" {
		return nil
	}
	return drawFront(best, f.picture, filepath.Base(names[0]), "of the sweep")
}
