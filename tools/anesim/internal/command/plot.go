package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"anesim"
	"anesim/internal/outfile"
	"anesim/internal/report"
	"anesim/loader"
	"anesim/tools/anesim/internal/accuracy"
	"anesim/tools/anesim/internal/flags"
	"anesim/tools/anesim/internal/input"
	"anesim/tools/anesim/internal/interrupt"
	"anesim/tools/anesim/internal/picture"
	"anesim/tools/anesim/internal/usage"
	"anesim/tools/anesim/internal/view"
)

// plotFlags holds the flags of plot.
type plotFlags struct {
	runFlags
	flags.Dims
	file string // output file of the picture
}

// pictureKinds lists the kinds of pictures that plot draws.
var pictureKinds = [...]string{"roofline", "timeline", "energy", "accuracy"}

func plotCommand(plan *outfile.Plan) *cobra.Command {
	f := plotFlags{runFlags: runFlags{plan: plan}}
	c := &cobra.Command{
		Use:   "plot roofline|timeline|energy|accuracy FILE -o OUT.svg",
		Short: "Draw a result: roofline, power over time, energy, accuracy",
		Long: `Plot draws a picture of a result, with its units, the chip, and the evidence for its
constants. FILE is a program, a network, or the JSON of run, layer, model or load; - is
standard input. A program or a network is run first, without values.
  roofline   TFLOP/s over operations per byte moved, below the limits of array and
             memory, with whiskers if a time has an interval
  timeline   the engine's power over the wall time
  energy     the energy of each layer or descriptor by part, as areas
  accuracy   the model's time against the measured time, for the built-in rows or for
             FILE, a CSV file as for anesim accuracy --csv`,
		Example: `  anesim plot roofline tools/anesim/examples/resnet50.yaml -o roofline.svg
  anesim model net.onnx --host macos-air --json | anesim plot timeline - -o power.svg
  anesim plot accuracy -o accuracy.svg`,
		ValidArgsFunction: func(c *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return pictureKinds[:], cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveDefault
		},
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, args) },
	}
	s := c.Flags()
	s.SortFlags = false
	s.StringVarP(&f.file, "output", "o", "", "write the picture to `OUT`.svg")
	f.Dims.Register(s)
	f.RegisterOnly(s, "chip", "host", "machine", "clock", "gate-tiles", "set", "repeat", "idle", "init")
	flags.CompleteFlags(c)
	return c
}

func (f *plotFlags) run(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usage.Errorf("missing picture; want one of %s", strings.Join(pictureKinds[:], ", "))
	}
	if !slices.Contains(pictureKinds[:], args[0]) {
		return usage.Errorf("unknown picture %q; want one of %s", args[0], strings.Join(pictureKinds[:], ", "))
	}
	what, files := args[0], args[1:]
	if len(files) > 1 || len(files) == 0 && what != "accuracy" {
		return usage.Errorf("plot %s: found %d files; want one", what, len(files))
	}
	if err := flags.CheckSVG("-o", f.file); err != nil {
		return err
	}
	b, err := f.drawPicture(c, what, files)
	if err != nil {
		return err
	}
	if err := outfile.Write(f.file, b); err != nil {
		return err
	}
	return printWritten(c.OutOrStdout(), f.file)
}

// drawPicture returns the SVG file of the picture named what.
func (f *plotFlags) drawPicture(c *cobra.Command, what string, files []string) ([]byte, error) {
	if what == "accuracy" {
		return drawAccuracy(strings.Join(files, ""))
	}
	r, err := f.readReport(c, files[0])
	if err != nil {
		return nil, err
	}
	var p *picture.Picture
	var missing string
	switch what {
	case "roofline":
		p, missing = picture.Roofline(r), fmt.Sprintf("no %s both multiplies and moves bytes", r.Of)
	case "timeline":
		p, missing = picture.Timeline(r), "the report has no power over time"
	default:
		p, missing = picture.Energy(r), fmt.Sprintf("no %s has energy by part", r.Of)
	}
	if p == nil {
		return nil, input.InFile(files[0], fmt.Errorf("%s: %w: %s", what, picture.ErrNothing, missing))
	}
	return p.File(p.Caption(r)...), nil
}

// drawAccuracy returns an SVG file that plots the measured rows in a CSV file, or the built-in rows
// if file is "".
func drawAccuracy(file string) ([]byte, error) {
	a := accuracyFlags{csv: file}
	rows, err := a.readRows()
	if err != nil {
		return nil, err
	}
	r, err := accuracy.New(rows, false) // a picture shows no left-out fits
	if err != nil {
		return nil, err
	}
	times, _, err := r.Pictures()
	return times, err
}

// readReport returns the result in a JSON file, or the result of running the model in the file.
func (f *plotFlags) readReport(c *cobra.Command, file string) (*view.Report, error) {
	f.TimingOnly = true
	o, err := f.Options()
	if err != nil {
		return nil, err
	}
	in := c.InOrStdin()
	if info, err := os.Stat(file); file == "-" || err == nil && info.Mode().IsRegular() {
		var r *view.Report
		var data []byte
		err := input.Open(file, in, func(_ string, src io.ReaderAt, size int64) (err error) {
			r, data, err = readResult(src, size, file == "-")
			return err
		})
		if err != nil || r != nil {
			return r, err
		}
		if file == "-" { // already read
			in = bytes.NewReader(data)
		}
	}
	m, err := f.Dims.Open(anesim.OpenOptions{}, file, []string{file}, in)
	if err != nil {
		return nil, err
	}
	if err := f.plan.Read(m.Files()...); err != nil {
		return nil, err
	}
	ctx, stop := interrupt.Context()
	defer stop()
	return runModelForReport(ctx, m, file, o)
}

func runModelForReport(ctx context.Context, m *anesim.Model, file string, o anesim.Options) (*view.Report, error) {
	res, err := m.Run(ctx, o)
	if err != nil {
		return nil, input.ModelError(m, file, err)
	}
	if m.Kind() == anesim.KindNetwork {
		return view.FromNetwork(report.NewNetwork(res)), nil
	}
	return view.FromRun(report.NewRun(res)), nil
}

// readResult reads a result from a JSON report. If the data is not a JSON object, the report is
// nil. In that case, readResult also returns the data if keep is true.
func readResult(src io.ReaderAt, size int64, keep bool) (*view.Report, []byte, error) {
	// All results are JSON objects, and no program or network starts with a brace. One byte decides before
	// a model of gigabytes is read into memory.
	first := make([]byte, min(size, 1))
	if _, err := src.ReadAt(first, 0); err != nil && err != io.EOF {
		return nil, nil, err
	}
	if string(first) != "{" && !keep {
		return nil, nil, nil
	}
	if size > loader.MaxFile {
		return nil, nil, fmt.Errorf("file has %d bytes; want at most %d", size, int64(loader.MaxFile))
	}
	data := make([]byte, size)
	if _, err := src.ReadAt(data, 0); err != nil && err != io.EOF {
		return nil, nil, err
	}
	if string(first) != "{" {
		return nil, data, nil
	}
	// Each kind of result has one member that the others lack.
	var kind struct {
		Schema  int
		Program *string
		Network *string
		Clients *json.RawMessage
	}
	read := func(to any) error {
		if err := json.Unmarshal(data, to); err != nil {
			return report.DescribeJSONError("a result of --json", data, err)
		}
		return nil
	}
	if err := read(&kind); err != nil {
		return nil, nil, err
	}
	switch {
	case kind.Schema != report.Schema:
		return nil, nil, fmt.Errorf(`unsupported "schema" %d; want %d`, kind.Schema, report.Schema)
	case kind.Network != nil:
		d := new(report.Network)
		err := read(d)
		return view.FromNetwork(d), nil, err
	case kind.Program != nil:
		d := new(report.Run)
		err := read(d)
		return view.FromRun(d), nil, err
	case kind.Clients != nil:
		d := new(report.Load)
		err := read(d)
		return view.FromLoad(d), nil, err
	}
	return nil, nil, fmt.Errorf(`unknown kind of result; want the --json output of run, layer, model or load`)
}
