package command

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"anesim/loader/network"
)

// modelFlags are the flags of model: those of run's that a network has a use for.
type modelFlags struct {
	runFlags
	values bool
	emit   string
}

// registerOnly registers the named ones of run's flags.
func (f *runFlags) registerOnly(s *pflag.FlagSet, names ...string) {
	s.SortFlags = false
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.register(all)
	for _, name := range names {
		s.AddFlag(all.Lookup(name))
	}
}

func modelCommand() *cobra.Command {
	var f modelFlags
	c := &cobra.Command{
		Use:   "model FILE",
		Short: "Run a network as one program",
		Long: `Model reads a network, lowers it to one program and runs it: a table with a row per
layer, of the descriptors that are its own, and totals. FILE is a list of layers (.yaml,
.yml; the keys of a layer are those of anesim layer -h) or an ONNX file (.onnx).

Biases, batch normalisation and rectifiers are folded into the layer before them. A layer
that cannot be lowered is listed with the reason and is in no total; the layers before
and behind it are programs of their own, with a dispatch each. So are those on both sides
of a tensor whose rows have to be laid out anew. Tensors between layers go to memory and
back: what the vendor's compiler gains by keeping some of them in the L2, and by running
layers side by side, is left out.

Without --values, time, bytes and energy alone are computed. With --values, a tensor that
no modelled layer makes is pseudo-random. --emit writes the program, or programs numbered
from 1 (OUT-1.hwx); layers that are alike share weights that FILE does not have.

` + idleHelp + `
The gap stands before the network's first program; its programs follow without one.`,
		Example: `  anesim model tools/anesim/examples/resnet50.yaml
  anesim model net.onnx --values --in image=x.npy --out results/ --json
  anesim model net.onnx --emit net.hwx`,
		Args: oneFile,
		RunE: func(c *cobra.Command, args []string) error {
			return f.run(c.OutOrStdout(), c.ErrOrStderr(), args[0])
		},
	}
	s := c.Flags()
	f.registerOnly(s, "chip", "host", "in", "out", "seed", "timing-only", "gate-tiles", "set", "repeat", "idle", "init", "json", "csv")
	s.Lookup("in").Usage = "input tensor `NAME=FILE` of halves, .npy (<f2) or raw .f16; repeatable"
	s.Lookup("out").Usage = "write each output tensor to `DIR`/<tensor>.npy"
	s.Lookup("csv").Usage = "report as CSV, a row per layer"
	s.BoolVar(&f.values, "values", false, "compute values as well")
	s.StringVar(&f.emit, "emit", "", "write the program to `OUT.hwx`")
	return c
}

func (f *modelFlags) run(stdout, stderr io.Writer, file string) error {
	switch {
	case f.values && f.timingOnly:
		return usage("--values and --timing-only exclude each other")
	case !f.values && (f.out != "" || len(f.in) > 0):
		return usage("--in and --out want --values")
	}
	f.timingOnly = !f.values
	o, err := f.options()
	if err != nil {
		return err
	}
	n, err := readNetwork(file)
	if err != nil {
		return inFile(file, err)
	}
	r := modelRun{net: n, options: o, preset: f.preset, file: file}
	m := newMeter(stderr, len(n.Layers), n.Name)
	r.lower(m.add)
	m.done()
	if f.emit != "" {
		if err := r.emit(f.emit); err != nil {
			return err
		}
	}
	if err := r.run(); err != nil {
		return inFile(file, err)
	}
	if f.out != "" {
		if err := r.writeOutputs(f.out); err != nil {
			return err
		}
	}
	switch {
	case f.json:
		err = r.writeJSON(stdout)
	case f.csv:
		err = r.writeCSV(stdout)
	default:
		err = r.writeTable(stdout)
	}
	if err != nil {
		return err
	}
	for i := range r.layers {
		if x := r.layers[i].fault; x != nil {
			return inFile(file, fmt.Errorf("layer %s: device fault: %v", r.layers[i].Name, *x))
		}
	}
	return nil
}

// readNetwork reads a network of the form its name's ending says.
func readNetwork(file string) (*network.Network, error) {
	n, err := network.Open(file, network.Options{})
	if err == nil && n.Name == "" {
		n.Name = strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	}
	return n, err
}
