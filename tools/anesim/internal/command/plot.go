package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	gonum "gonum.org/v1/plot"

	"anesim"
	"anesim/bench"
	"anesim/bench/figure"
	"anesim/loader"
	"anesim/tools/anesim/internal/outfile"
	"anesim/tools/anesim/internal/plot"
	"anesim/tools/anesim/internal/report"
)

// plotFlags are the flags of plot.
type plotFlags struct {
	runFlags
	file string // of the picture
}

// pictures are the kinds of plot.
var pictures = [...]string{"roofline", "timeline", "energy", "accuracy"}

func plotCommand() *cobra.Command {
	var f plotFlags
	c := &cobra.Command{
		Use:   "plot roofline|timeline|energy|accuracy FILE -o OUT.svg|png",
		Short: "Draw a result: roofline, power over time, energy",
		Long: `Plot draws a picture of a result, with its units, chip and what its constants rest on.
FILE is a program, a network, or what run, layer, model or load printed with --json; - is
standard input. A program or a network is run first, without values.

  roofline   TFLOP/s over operations for each byte moved, below what array and memory can
             do, with whiskers where a time has an interval
  timeline   the engine's power over the wall time
  energy     energy by part of the layers or descriptors with the most cycles
  accuracy   the model's time against the measured one, of the built-in rows, or of FILE,
             a CSV file as for anesim accuracy --csv`,
		Example: `  anesim plot roofline tools/anesim/examples/resnet50.yaml -o roofline.svg
  anesim model net.onnx --host macos-air --json | anesim plot timeline - -o power.png
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
	s.StringVarP(&f.file, "output", "o", "", "write the picture to `OUT`.svg or OUT.png")
	f.registerOnly(s, "chip", "host", "gate-tiles", "set", "repeat", "idle", "init")
	completeFlags(c)
	return c
}

func (f *plotFlags) run(c *cobra.Command, args []string) error {
	if len(args) == 0 || !slices.Contains(pictures[:], args[0]) {
		return usage("missing picture: want one of %s", strings.Join(pictures[:], ", "))
	}
	what, files := args[0], args[1:]
	if len(files) > 1 || len(files) == 0 && what != "accuracy" {
		return usage("plot %s takes one file, not %d", what, len(files))
	}
	form := strings.ToLower(strings.TrimPrefix(filepath.Ext(f.file), "."))
	if form != "svg" && form != "png" {
		return usage("-o %q: want a file that ends in .svg or .png", f.file)
	}
	if err := outfile.Avoiding(f.file, append(f.inputFiles(), files...)...); err != nil {
		return fmt.Errorf("-o: %w", err)
	}
	p, err := f.draw(c, what, files)
	if err != nil {
		return err
	}
	b, err := plot.Encode(p, form)
	if err != nil {
		return err
	}
	return outfile.Write(f.file, b)
}

func (f *plotFlags) draw(c *cobra.Command, what string, files []string) (*gonum.Plot, error) {
	if what == "accuracy" {
		a := accuracyFlags{csv: strings.Join(files, "")}
		rows, err := a.read()
		if err != nil {
			return nil, err
		}
		compared, err := bench.Compare(rows, bench.DefaultPresets())
		if err != nil {
			return nil, err
		}
		p, err := figure.TimesPlot(compared)
		if err != nil {
			return nil, err
		}
		p.Title.Text += fmt.Sprintf("\n%s, constants %s", plural(len(compared.Rows), "measured row"), anesim.ThisTool().Constants)
		return p, nil
	}
	r, err := f.report(c, files[0])
	if err != nil {
		return nil, err
	}
	var p *gonum.Plot
	switch what {
	case "roofline":
		p, err = plot.Roofline(r)
	case "timeline":
		p, err = plot.Timeline(r)
	default:
		p, err = plot.Energy(r)
	}
	if err != nil {
		return nil, inFile(files[0], err)
	}
	return p, nil
}

// report reads a result, or runs a model.
func (f *plotFlags) report(c *cobra.Command, file string) (*report.Report, error) {
	f.timingOnly = true
	o, err := f.options()
	if err != nil {
		return nil, err
	}
	in := c.InOrStdin()
	if info, err := os.Stat(file); file == "-" || err == nil && info.Mode().IsRegular() {
		var r *report.Report
		var data []byte
		err := open(file, in, func(_ string, src io.ReaderAt, size int64) (err error) {
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
	m, err := openModel(file, in)
	if err != nil {
		return nil, err
	}
	ctx, stop := interruptible()
	defer stop()
	return runReport(ctx, m, o)
}

func runReport(ctx context.Context, m *anesim.Model, o anesim.Options) (*report.Report, error) {
	res, err := m.Run(ctx, o)
	if err != nil {
		return nil, modelError(m, err)
	}
	if m.Kind() == anesim.KindNetwork {
		return report.OfNetwork(res.NetworkDocument()), nil
	}
	return report.OfRun(res.RunDocument()), nil
}

// resultOf reads the JSON of a result. It returns no report for what is no JSON object, and
// then its bytes where keep is set.
func resultOf(src io.ReaderAt, size int64, keep bool) (*report.Report, []byte, error) {
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
	case kind.Schema != anesim.Schema:
		return nil, nil, fmt.Errorf("schema %d of a result: want %d", kind.Schema, anesim.Schema)
	case kind.Network != nil:
		d := new(anesim.NetworkDocument)
		err := json.Unmarshal(data, d)
		return report.OfNetwork(d), nil, err
	case kind.Program != nil:
		d := new(anesim.RunDocument)
		err := json.Unmarshal(data, d)
		return report.OfRun(d), nil, err
	case kind.Clients != nil:
		d := new(anesim.LoadDocument)
		err := json.Unmarshal(data, d)
		return report.OfLoad(d), nil, err
	}
	return nil, nil, fmt.Errorf("it is the result of no command that plot draws: want one of run, layer, model, load")
}
