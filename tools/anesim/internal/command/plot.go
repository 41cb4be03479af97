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
	"anesim/bench/report"
	"anesim/loader"
	"anesim/tools/anesim/internal/accuracy"
	"anesim/tools/anesim/internal/flags"
	"anesim/tools/anesim/internal/input"
	"anesim/tools/anesim/internal/outfile"
	"anesim/tools/anesim/internal/picture"
	"anesim/tools/anesim/internal/usage"
	"anesim/tools/anesim/internal/view"
)

// plotFlags are the flags of plot.
type plotFlags struct {
	runFlags
	flags.Dims
	file string // of the picture
}

// pictures are the kinds of plot.
var pictures = [...]string{"roofline", "timeline", "energy", "accuracy"}

func plotCommand() *cobra.Command {
	var f plotFlags
	c := &cobra.Command{
		Use:   "plot roofline|timeline|energy|accuracy FILE -o OUT.svg",
		Short: "Draw a result: roofline, power over time, energy",
		Long: `Plot draws a picture of a result, with its units, chip and what its constants rest on.
FILE is a program, a network, or what run, layer, model or load printed with --json; - is
standard input. A program or a network is run first, without values.

  roofline   TFLOP/s over operations for each byte moved, below what array and memory can
             do, with whiskers where a time has an interval
  timeline   the engine's power over the wall time
  energy     areas of the energy of each layer or descriptor, by part
  accuracy   the model's time against the measured one, of the built-in rows, or of FILE,
             a CSV file as for anesim accuracy --csv`,
		Example: `  anesim plot roofline tools/anesim/examples/resnet50.yaml -o roofline.svg
  anesim model net.onnx --host macos-air --json | anesim plot timeline - -o power.svg
  anesim plot accuracy -o accuracy.svg`,
		ValidArgsFunction: func(c *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return pictures[:], cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveDefault
		},
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, args) },
	}
	s := c.Flags()
	s.SortFlags = false
	s.StringVarP(&f.file, "output", "o", "", "write the picture to `OUT`.svg")
	f.Dims.Register(s)
	f.RegisterOnly(s, "chip", "host", "gate-tiles", "set", "repeat", "idle", "init")
	flags.CompleteFlags(c)
	return c
}

func (f *plotFlags) run(c *cobra.Command, args []string) error {
	if len(args) == 0 || !slices.Contains(pictures[:], args[0]) {
		return usage.Errorf("missing picture: want one of %s", strings.Join(pictures[:], ", "))
	}
	what, files := args[0], args[1:]
	if len(files) > 1 || len(files) == 0 && what != "accuracy" {
		return usage.Errorf("plot %s takes one file, not %d", what, len(files))
	}
	if err := flags.CheckSVG("-o", f.file); err != nil {
		return err
	}
	b, err := f.draw(c, what, files)
	if err != nil {
		return err
	}
	return outfile.Write(f.file, b)
}

// draw returns a picture as an SVG file.
func (f *plotFlags) draw(c *cobra.Command, what string, files []string) ([]byte, error) {
	if what == "accuracy" {
		return drawAccuracy(strings.Join(files, ""))
	}
	r, err := f.report(c, files[0])
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

// drawAccuracy returns the picture of the measured rows in a CSV file, or of the built-in
// ones if file is empty.
func drawAccuracy(file string) ([]byte, error) {
	a := accuracyFlags{csv: file}
	rows, err := a.read()
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

// report reads a result, or runs a model.
func (f *plotFlags) report(c *cobra.Command, file string) (*view.Report, error) {
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
			r, data, err = resultOf(src, size, file == "-")
			return err
		})
		if err != nil || r != nil {
			return r, err
		}
		if file == "-" { // read already
			in = bytes.NewReader(data)
		}
	}
	m, err := f.Dims.Open(anesim.OpenOptions{}, file, []string{file}, in)
	if err != nil {
		return nil, err
	}
	ctx, stop := flags.Interruptible()
	defer stop()
	return runReport(ctx, m, o)
}

func runReport(ctx context.Context, m *anesim.Model, o anesim.Options) (*view.Report, error) {
	res, err := m.Run(ctx, o)
	if err != nil {
		return nil, input.ModelError(m, err)
	}
	if m.Kind() == anesim.KindNetwork {
		return view.OfNetwork(report.NewNetwork(res)), nil
	}
	return view.OfRun(report.NewRun(res)), nil
}

// resultOf reads the JSON of a result. It returns no report for what is no JSON object, and
// then its bytes where keep is set.
func resultOf(src io.ReaderAt, size int64, keep bool) (*view.Report, []byte, error) {
	first := make([]byte, min(size, 1))
	if _, err := src.ReadAt(first, 0); err != nil && err != io.EOF {
		return nil, nil, err
	}
	if string(first) != "{" && !keep {
		return nil, nil, nil
	}
	if size > loader.MaxFile {
		return nil, nil, fmt.Errorf("more than %d bytes", int64(loader.MaxFile))
	}
	data := make([]byte, size)
	if _, err := src.ReadAt(data, 0); err != nil && err != io.EOF {
		return nil, nil, err
	}
	if string(first) != "{" {
		return nil, data, nil
	}
	var kind struct {
		Schema  int
		Program *string
		Network *string
		Clients *json.RawMessage
	}
	if err := json.Unmarshal(data, &kind); err != nil {
		return nil, nil, err
	}
	switch {
	case kind.Schema != report.Schema:
		return nil, nil, fmt.Errorf("schema %d of a result: want %d", kind.Schema, report.Schema)
	case kind.Network != nil:
		d := new(report.Network)
		err := json.Unmarshal(data, d)
		return view.OfNetwork(d), nil, err
	case kind.Program != nil:
		d := new(report.Run)
		err := json.Unmarshal(data, d)
		return view.OfRun(d), nil, err
	case kind.Clients != nil:
		d := new(report.Load)
		err := json.Unmarshal(data, d)
		return view.OfLoad(d), nil, err
	}
	return nil, nil, fmt.Errorf("it is the result of no command that plot draws: want one of run, layer, model, load")
}
