package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"anesim"
	"anesim/bench/fp32"
	"anesim/hw/clock"
	"anesim/internal/explain"
	"anesim/internal/outfile"
	"anesim/internal/report"
	"anesim/loader"
	"anesim/loader/network"
	"anesim/tools/anesim/internal/flags"
	"anesim/tools/anesim/internal/input"
	"anesim/tools/anesim/internal/interrupt"
	"anesim/tools/anesim/internal/output"
	"anesim/tools/anesim/internal/terminal"
	"anesim/tools/anesim/internal/text"
	"anesim/tools/anesim/internal/usage"
)

// modelFlags holds the flags of model: its own, and those of run that apply to a network.
type modelFlags struct {
	runFlags
	placeFlags
	cacheFlags
	values  bool
	compare string
	rate    float64 // calls a second; 0 is as many as possible
	flags.Dims
	top      int
	inMemory bool
	tables   bool
	strict   bool
	l2       bool
	emit     string
	reshape  []string
	merge    []string
	split    []string
	weights  string        // the name of a form
	plain    *anesim.Model // without --weights
}

func modelCommand(plan *outfile.Plan) *cobra.Command {
	f := modelFlags{runFlags: runFlags{plan: plan}}
	c := &cobra.Command{
		Use:   "model FILE",
		Short: "Run a network as one program",
		Long: `Model reads a network, compiles it to one program and runs it. It prints a row for each
layer, and totals. FILE is a list of layers (.yaml, .yml), an ONNX file (.onnx) or a Core
ML model (.mlmodel, .mlpackage, .mlmodelc, .mil). --dim sets the size of a dimension that
the file leaves open, or the value of an input of one integer or truth value, such as one
that chooses a branch (--dim use_cache_branch=1) or counts the iterations of a loop.

A layer of a list has an op, the keys of that operation (anesim layer -h) and, if others
refer to it, a name. It reads the layer before it, or the tensors in from: [a, b]. Shapes
are given for inputs only:

  inputs: {image: {c: 3, h: 224, w: 224}}
  layers:
    - {name: a, op: conv, cout: 64, k: 3, pad: 1, act: relu}
    - {name: b, op: conv, cout: 64, k: 1}
    - {op: add, from: [a, b]}

With outputs: [a, b] as well, the results are a and b. With first: output, the buffers
of results are numbered below those of inputs, as in some programs.

--release 2026, for any FILE, or release: 2026 in a list of layers, writes the program
that Apple's compiler of 2026 would. It is known from three programs, and schedules
layers over the channels of one row of pixels (h: 1) as a chain; the report says how many
layers that concerns. newest, the default, is the release that most known programs are of.

Biases, batch normalization and ReLU are fused into the layer before them. A layer that
cannot be compiled is listed with the reason and is in no total. The layers before and
after it become separate programs, which the host starts one by one. The host computes what the engine
cannot (gathers by computed indices, sorting, integers); its layers are listed with their
wall time, at rates assumed for a CPU. If a tensor is read with a different row length
from the one it was written with, copy tasks change its layout; they are listed as layers.

A tensor between layers stays in L2 if it fits next to what its layers need.
Apple's compiler does this in chains of matmuls; for convolutions it is inferred.
--in-memory writes all tensors to memory and reads them back.

Without --values, or with --timing-only, only time, bytes and energy are computed. With --values, missing inputs
are filled with pseudo-random values (--seed). --emit writes the program, or programs
numbered from 1 (OUT-1.hwx). Where FILE has no weights, layers of equal shape share
pseudo-random ones.

` + flags.IdleHelp + `
The gap comes before the network's first program; the other programs follow without one.
--rate 30 chooses the gap with which the network is called 30 times a second.

With --repeat, the states of a Core ML program (read_state, write_state) keep their values
from call to call, and start at zero. The M1 rejects native states: each is an input and an
output that exchange their buffers, as with --state for other networks.

--precision and --compare fp32 compute values and report accuracy instead of times: which
layers lose accuracy in their sums, and the power of two on their weights that repairs it;
and the error of each layer's values with respect to float32. See docs/precision.md.

The first lines say how much of the network the figures cover: nodes (the operators of
the file), their multiply-accumulates, and the bytes of their operands and results.
--strict fails unless everything is covered and each program fits in the engine's address
space (0x30000000 to 0xe0000000), with weights of its own for every layer. If a file of weights that FILE refers to is
missing, --strict, --values and --emit fail: the time is right without it, values are not.
An output that needs a layer which is not modelled is named with that layer and has no
values. The next lines say how long the network takes, where, why, and which of the
changes that anesim explain tries help.

--cache DIR keeps compiled programs in DIR. The last line of the report, and "cache" in
JSON, say whether they were fetched or made. The key is the network's structure, weights
and file, the seed and the compile options. Each build of anesim has its own entries.

--compute says where each layer would run if Apple's framework placed it: on the
cheapest path through engine, GPU and CPU, with a launch for each segment and a transfer
at each boundary. The engine's times come from the model; all other rates are assumed,
and --backends replaces them:

  gpu: {gflops: 2600, gb_per_s: 68, launch_us: 100}
  cpu: {gflops: 700, gb_per_s: 68, launch_us: 5}
  engine: {launch_us: 180}
  transfer: {gb_per_s: 10, switch_us: 10}

` + profilesHelp,
		Example: `  anesim model tools/anesim/examples/resnet50.yaml
  anesim model net.onnx --values --in image=x.npy --out results/ --json
  anesim model net.onnx --precision --compare fp32 --summary --in image=x.npy
  anesim model net.onnx --dim batch=4,height=640 --emit net.hwx
  anesim model net.yaml --pprof net.pb.gz && go tool pprof -top -cum net.pb.gz`,
		Args:              usage.OneFile,
		ValidArgsFunction: flags.CompleteNetwork,
		RunE:              f.run,
	}
	s := c.Flags()
	f.RegisterOnly(s, "chip", "host", "machine", "clock", "target", "in", "out", "seed", "timing-only", "gate-tiles", "power-budget", "set", "state", "repeat", "idle", "init", "precision", "summary", "json", "csv", "pprof", "trace", "html", "baseline")
	f.AllowMachines(s)
	s.Lookup("in").Usage = "input tensor `NAME=FILE`, .npy (<f2; other floats and whole numbers are rounded) or raw .f16; repeatable"
	s.Lookup("out").Usage = "write each output to `DIR`/<output>.npy, as the network's file has it"
	s.Lookup("csv").Usage = "report as CSV, a row per layer"
	s.Float64Var(&f.rate, "rate", 0, "call the network `N` times a second: idle for the rest of each period")
	s.BoolVar(&f.values, "values", false, "compute values as well")
	s.StringVar(&f.compare, "compare", "", "compare the values of layers with the network in `FORMAT`, fp32, instead of reporting times")
	f.Dims.Register(s)
	s.BoolVar(&f.inMemory, "in-memory", false, "send every tensor between layers to memory and back")
	s.BoolVar(&f.tables, "tables", false, "use a lookup table for Elu, Selu, Celu and Softsign of ONNX, MIL and Core ML: cheaper than their exact forms, and less exact")
	s.BoolVar(&f.l2, "l2", false, "draw how full L2 is, from descriptor to descriptor")
	s.IntVar(&f.top, "top", 0, "print rows only for the `N` layers that take longest when run alone; 0 is all")
	s.BoolVar(&f.strict, "strict", false, "exit 1 unless every node of the network is in the totals, each program fits and no file of weights is missing")
	s.StringVar(&f.emit, "emit", "", "write the program to `OUT.hwx`")
	s.StringArrayVar(&f.reshape, "reshape", nil, "what-if: a layer that looks at single pixels has them in H rows of W, `LAYER=HxW`; repeatable")
	s.StringArrayVar(&f.merge, "merge", nil, "what-if: merge these layers into one: parallel (same input) or consecutive, `LAYER,LAYER,...`; repeatable")
	s.StringArrayVar(&f.split, "split", nil, "what-if: split a convolution by output channels, `LAYER=PARTS`; repeatable")
	s.StringVar(&f.weights, "weights", "", "what-if, times only: store weights that are fp16 in the `FORM` int8, palette8, palette6 or palette4")
	f.placeFlags.registerFlags(c)
	f.cacheFlags.registerFlags(s)
	flags.CompleteFlags(c)
	return c
}

func (f *modelFlags) run(c *cobra.Command, args []string) error {
	file := args[0]
	// Comparing values needs them, so these flags ask for them too.
	f.values = f.values || (f.Precision || f.compare != "") && !f.TimingOnly
	if err := f.checkFlags(c.Flags().Changed); err != nil {
		return err
	}
	f.TimingOnly, f.Rounds = !f.values, true
	o, err := f.Options()
	if err != nil {
		return err
	}
	if o.Cache, err = f.cacheFlags.openCache(f.placeFlags.cacheWords()); err != nil {
		return err
	}
	// The plan holds the files that the command reads and writes, and refuses to write one that it
	// reads. It is complete before anything is written.
	if o.Cache != nil {
		if err := f.plan.Write("--cache", o.Cache.Tree()); err != nil {
			return err
		}
	}
	m, err := f.openNetwork(file, c)
	if err != nil {
		return err
	}
	if err := f.plan.Read(m.Files()...); err != nil {
		return err
	}
	if f.strict {
		if err := m.CheckWeights(); err != nil {
			return input.InFile(file, err)
		}
	}
	ctx, stop := interrupt.Context()
	defer stop()
	// A comparison of machines is a report of its own.
	if several, err := f.severalMachines(); err != nil {
		return err
	} else if several {
		return f.printMachines(ctx, c.OutOrStdout(), m, o, file, func(res *anesim.Result, o anesim.Options) error {
			x, err := f.explainNetwork(ctx, res, o, file)
			if err != nil {
				return input.InFile(file, err)
			}
			return text.WriteNetworkSummary(c.OutOrStdout(), res, report.NewNetwork(res), x, f.formatExplainCommand(file))
		})
	}
	bar := terminal.NewMeter(c.ErrOrStderr())
	defer bar.End()
	o.Progress = bar.Show
	if err := f.planOutputs(m); err != nil {
		return err
	}
	var programs []*loader.Program
	var written []string
	if f.emit != "" {
		// The number of programs gives the names of the files, which the plan must know before the run.
		if programs, err = m.Programs(ctx, o); err != nil {
			return input.InFile(file, err)
		}
		if written, err = namePrograms(f.emit, len(programs)); err != nil {
			return err
		}
		if err := f.plan.Write("--emit", written...); err != nil {
			return err
		}
	}
	if f.rate > 0 {
		if o.Idle, err = f.idleAtRate(ctx, m, o); err != nil {
			return input.InFile(file, err)
		}
	}
	res, err := m.Run(ctx, o)
	if err != nil {
		return input.InFile(file, err)
	}
	// Programs are written only after the run has shown that they link and execute.
	if err := outfile.WriteAll(written, func(k int) []byte { return programs[k].Bytes() }); err != nil {
		return err
	}
	// The meter must not share a line with the report.
	bar.End()
	if err := f.writeProfiles(ctx, res, file); err != nil {
		return err
	}
	doc := report.NewNetwork(res)
	doc.File = file
	for k, name := range written {
		doc.Programs[k].File = name
	}
	if doc.Placement, err = f.newPlacement(res); err != nil {
		return input.InFile(file, err)
	}
	if f.compare != "" {
		if doc.FP32, err = fp32.Compare(ctx, res); err != nil {
			return input.InFile(file, err)
		}
	}
	x, err := f.explainNetwork(ctx, res, o, file)
	if err != nil {
		return input.InFile(file, err)
	}
	// The report comes before pages and outputs: it is the answer, should writing them fail.
	if err := f.printReport(c.OutOrStdout(), res, doc, x); err != nil {
		return err
	}
	if f.plain != nil && !f.JSON && !f.CSV {
		if err := f.printGainOfWeights(ctx, c.OutOrStdout(), res, o); err != nil {
			return input.InFile(file, err)
		}
	}
	if f.HTML != "" {
		if err := f.writeNetworkPage(res, doc, x); err != nil {
			return err
		}
	}
	if err := f.writeOutputs(res, doc); err != nil || f.JSON || f.CSV {
		return err
	}
	return printWritten(c.OutOrStdout(), append(written, f.Out, f.Pprof, f.Trace, f.HTML)...)
}

// idleAtRate returns the gap before each call with which m is called --rate times a second. It times a call
// without a gap first and then with one, and returns an error if a call takes longer than the period.
func (f *modelFlags) idleAtRate(ctx context.Context, m *anesim.Model, o anesim.Options) (time.Duration, error) {
	o.Values, o.Precision, o.Repeat, o.Idle, o.Progress = false, false, 1, 0, nil
	res, err := m.Run(ctx, o)
	if err != nil {
		return 0, err
	}
	call, period := res.Call(), clock.Nanoseconds(1e9/f.rate)
	if call > period {
		return 0, fmt.Errorf("--rate %g: a call takes %s, so there are at most %s a second", f.rate, report.TimeText(call), report.Rate(1e9/float64(call)))
	}
	o.Idle = time.Duration(period - call)
	if res, err = m.Run(ctx, o); err != nil {
		return 0, err
	}
	// Waking up after the gap is part of the period.
	return max(0, o.Idle-time.Duration(res.Wall()-period)), nil
}

// checkFlags returns an error if flags contradict each other or have values that are not valid. The
// function changed reports whether the command line has the named flag.
func (f *modelFlags) checkFlags(changed func(flag string) bool) error {
	switch {
	case f.compare != "fp32" && changed("compare"):
		return usage.Errorf("--compare %q: want fp32, which says how far values on the engine are from those of the network in float32; anesim diff compares two files", f.compare)
	case f.compare != "" && f.TimingOnly:
		return usage.Errorf("--compare and --timing-only are mutually exclusive: a comparison needs values")
	case f.compare != "" && (f.Repeat > 1 || len(f.State) > 0):
		return usage.Errorf("--compare requires a single call: without --repeat and --state")
	case f.compare != "" && f.CSV:
		return usage.Errorf("--compare and --csv are mutually exclusive; --json has the figures")
	case f.compare != "" && f.HTML != "":
		return usage.Errorf("--compare and --html are mutually exclusive: the page has times; --json has the figures")
	case (f.Precision || f.compare != "") && !f.JSON && (f.l2 || f.top > 0 || f.placeFlags.compute != ""):
		return usage.Errorf("--precision and --compare report accuracy instead of times: without --l2, --top and --compute")
	case f.weights != "" && (f.values || f.emit != ""):
		return usage.Errorf("--weights is for times only: without --values, --precision, --compare and --emit")
	case f.values && f.TimingOnly:
		return usage.Errorf("--values and --timing-only are mutually exclusive")
	case f.Summary && (f.l2 || f.top != 0 || f.compute != ""):
		return usage.Errorf("--summary and --compute, --l2 or --top are mutually exclusive")
	case changed("rate") && !(f.rate >= 1e-3 && f.rate <= 1e9):
		return usage.Errorf("--rate %g: want calls a second, such as 30", f.rate)
	case f.rate > 0 && changed("idle"):
		return usage.Errorf("--rate and --idle are mutually exclusive: --rate chooses the gap")
	case f.rate > 0 && len(f.Machines()) > 1:
		return usage.Errorf("--rate requires a single machine")
	case len(f.Machines()) > 1 && (f.values || f.emit != "" || f.l2 || f.top != 0 || f.strict || f.compute != ""):
		return usage.Errorf("--machine %s: several machines print one table of calls, or with --summary a summary each: without --values, --precision, --compare, --emit, --l2, --top, --strict and --compute", f.Machine)
	case f.top < 0:
		return usage.Errorf("--top %d: want 0 or more", f.top)
	case !f.values && (f.Out != "" || len(f.In) > 0):
		return usage.Errorf("--in and --out require --values")
	}
	return f.placeFlags.checkFlags()
}

// printReport writes the report as text, JSON or CSV.
func (f *modelFlags) printReport(w io.Writer, res *anesim.Result, doc *report.Network, x *explain.Explanation) error {
	switch {
	case f.JSON:
		return report.WriteDocument(w, doc)
	case f.CSV:
		return report.WriteNetworkCSV(w, doc)
	case f.Precision || f.compare != "":
		return f.printAccuracy(w, res, doc)
	case f.Summary:
		return text.WriteNetworkSummary(w, res, doc, x, f.formatExplainCommand(doc.File))
	}
	if err := text.WriteNetwork(w, res, doc, x, f.formatExplainCommand(doc.File), f.top); err != nil {
		return err
	}
	if f.l2 {
		if err := text.WriteOccupancy(w, doc); err != nil {
			return err
		}
	}
	return text.WriteCache(w, doc.Cache)
}

// printAccuracy writes the reports of --precision and --compare as text.
func (f *modelFlags) printAccuracy(w io.Writer, res *anesim.Result, doc *report.Network) error {
	a := text.Accuracy{Name: doc.Network, Noun: "layer", FP32: doc.FP32, Result: res}
	if f.Precision {
		a.Rows = doc.PrecisionRows()
	}
	if f.Summary {
		return text.WriteAccuracySummary(w, &a)
	}
	if f.Precision {
		if err := text.WritePrecision(w, doc.Network, "layer", a.Rows); err != nil {
			return err
		}
	}
	if f.Precision && f.compare != "" {
		if _, err := fmt.Fprintln(w); err != nil {
			return err
		}
	}
	if f.compare != "" {
		if err := text.WriteComparison(w, doc.Network, doc.FP32); err != nil {
			return err
		}
	}
	if err := text.EndAccuracy(w, &a); err != nil {
		return err
	}
	return text.WriteCache(w, doc.Cache)
}

// writeOutputs writes the output tensors. It returns an error if the network faulted or, with
// --strict, if nodes are not modelled or a program does not fit.
func (f *modelFlags) writeOutputs(res *anesim.Result, doc *report.Network) error {
	file := doc.File
	for i := range res.Layers {
		if x := res.Layers[i].Fault; x != nil {
			return input.InFile(file, fmt.Errorf("layer %s: device fault: %v", doc.Layers[i].Name, *x))
		}
	}
	if f.Out != "" { // the report is complete even if writing the values fails
		if err := writeResults(f.Out, f.outputs, res, doc); err != nil {
			return err
		}
	}
	if n := doc.Coverage.Nodes - doc.Coverage.Done; f.strict && n > 0 {
		return input.InFile(file, fmt.Errorf("--strict: %d of %s not modelled", n, report.Plural(doc.Coverage.Nodes, "node")))
	}
	if n := len(doc.TooLarge); f.strict && n > 0 {
		return input.InFile(file, fmt.Errorf("--strict: %s", doc.TooLarge[0].String()))
	}
	return nil
}

// newExplainOptions returns the options of package explain that the flags of the command model
// select. The model's file is file.
func (f *modelFlags) newExplainOptions(file string) explain.Options {
	how := f.runFlags.newExplainOptions(file)
	how.Flags = append(how.Flags, f.Dims.Flags()...)
	return how
}

// formatExplainCommand returns the explain command line for the network in file.
func (f *modelFlags) formatExplainCommand(file string) string {
	how := f.newExplainOptions(file)
	var flags []string
	if f.inMemory {
		flags = append(flags, "--in-memory")
	}
	if f.tables {
		flags = append(flags, "--tables")
	}
	return how.Command("explain", flags...)
}

// explainNetwork tries changes to the network with result res, for about as long as the run took,
// and returns the explanation. It returns nil if no output shows the explanation, or if the run used
// options for which explain has no flags.
func (f *modelFlags) explainNetwork(ctx context.Context, res *anesim.Result, o anesim.Options, file string) (*explain.Explanation, error) {
	if f.HTML == "" && (f.JSON || f.CSV || f.Precision || f.compare != "") {
		return nil, nil // these have no explanation
	}
	if f.hasUnexplainableOptions() || len(f.reshape)+len(f.merge)+len(f.split) > 0 || f.weights != "" {
		return nil, nil // explain would describe the network without these changes
	}
	o.Cache = nil // which is for the network, not for the changes that are tried
	how := f.newExplainOptions(file)
	how.Work = explain.WorkLikeRun(len(res.Report.Descriptors))
	return explain.Explain(ctx, res.Model, o, how)
}

// writeResults writes the computed outputs of a network to their files in dir. If an output was not computed, it
// returns an error with the reason.
func writeResults(dir string, outputs output.Files, res *anesim.Result, doc *report.Network) error {
	missing := listMissingOutputs(res, doc)
	if len(res.Outputs) == 0 {
		return fmt.Errorf("--out %s: no outputs were computed: %s", dir, cmp.Or(missing, "the network has no outputs"))
	}
	if err := outputs.Write(dir, res); err != nil {
		return err
	}
	if missing != "" {
		return fmt.Errorf("--out %s: some outputs were not written: %s", dir, missing)
	}
	return nil
}

// listMissingOutputs returns text that names the outputs of a network without values and the reason
// for each. It returns "" if there are none.
func listMissingOutputs(res *anesim.Result, doc *report.Network) string {
	given := map[string]bool{}
	for i := range res.Outputs {
		given[res.Outputs[i].Port.Name] = true
	}
	why := "was not computed"
	for i := range doc.Layers {
		if l := &doc.Layers[i]; l.Note != "" {
			why += " (" + report.Printable(l.Name) + ": " + l.Note + ")"
			break
		}
	}
	var missing []string
	for _, out := range res.Model.Network().AllResults() {
		if given[out.Name] {
			continue
		}
		reason := why
		for _, x := range doc.Coverage.Lost {
			if x.Output == out.Name {
				reason = fmt.Sprintf("needs %s, which is not modelled", report.Printable(x.Layer))
			}
		}
		missing = append(missing, report.Printable(out.Name)+" "+reason)
	}
	return strings.Join(missing, "; ")
}

// openNetwork opens a network and applies --reshape, --merge and --split. It returns an error for
// a compiled program or an unknown extension.
func (f *modelFlags) openNetwork(file string, c *cobra.Command) (*anesim.Model, error) {
	m, err := f.Dims.Open(anesim.OpenOptions{InMemory: f.inMemory, Tables: f.tables}, file, []string{file}, c.InOrStdin())
	switch ext := strings.ToLower(filepath.Ext(filepath.Clean(file))); {
	case err == nil && m.Kind() != anesim.KindNetwork:
		return nil, usage.Errorf("%s is a compiled program, not a network; try anesim run %[1]s", report.Printable(file))
	case err != nil && file != "-" && !slices.Contains(network.Extensions(), ext) && !errors.As(err, new(*input.MissingError)):
		return nil, input.InFile(file, fmt.Errorf("unknown extension %q; want one of %s", ext, strings.Join(network.Extensions(), ", ")))
	}
	var list []explain.Reshape
	for _, text := range f.reshape {
		layer, h, w, bad := explain.ParseReshape(text)
		if bad != nil {
			return nil, usage.Errorf("--reshape %q: %v", text, bad)
		}
		list = append(list, explain.Reshape{Layer: layer, H: h, W: w})
	}
	groups, bad := f.parseRegroups()
	if bad != nil {
		return nil, bad
	}
	if err == nil && list != nil {
		m, err = explain.ReshapeLayers(m, list)
	}
	if err == nil && groups != nil {
		m, err = explain.RegroupLayers(m, groups)
	}
	if err != nil || f.weights == "" {
		return m, err
	}
	f.plain = m // for the comparison
	m, err = explain.CompressWeights(m, f.weights)
	var option *anesim.OptionError
	if errors.As(err, &option) {
		return nil, usage.Errorf("--weights %s: %s", f.weights, option.What)
	}
	if err != nil {
		return nil, input.InFile(file, err)
	}
	return m, nil
}

// printGainOfWeights prints the change of the engine's time by --weights.
func (f *modelFlags) printGainOfWeights(ctx context.Context, w io.Writer, res *anesim.Result, o anesim.Options) error {
	o.Progress, o.Cache = nil, nil
	plain, err := f.plain.Run(ctx, o)
	if err != nil {
		return err
	}
	return text.WriteGain(w, "weights as "+f.weights, plain, res)
}

// parseRegroups parses the arguments of --merge and --split.
func (f *modelFlags) parseRegroups() (list []explain.Regroup, err error) {
	for _, text := range f.merge {
		r, err := explain.ParseMerge(text)
		if err != nil {
			return nil, usage.Errorf("--merge %q: %v", text, err)
		}
		list = append(list, r)
	}
	for _, text := range f.split {
		r, err := explain.ParseSplit(text)
		if err != nil {
			return nil, usage.Errorf("--split %q: %v", text, err)
		}
		list = append(list, r)
	}
	return list, nil
}

// namePrograms returns the names of the files of n programs: file itself for one program, and file
// with numbers from 1 for several. It returns an error if there is no program.
func namePrograms(file string, n int) ([]string, error) {
	switch n {
	case 0:
		return nil, fmt.Errorf("--emit %s: no layer was compiled, so there is no program to write", file)
	case 1:
		return []string{file}, nil
	}
	var names []string
	ext := filepath.Ext(file)
	for k := range n {
		names = append(names, fmt.Sprintf("%s-%d%s", strings.TrimSuffix(file, ext), k+1, ext))
	}
	return names, nil
}
