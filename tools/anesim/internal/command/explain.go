package command

import (
	"strings"

	"github.com/spf13/cobra"

	"anesim"
	"anesim/internal/explain"
	"anesim/internal/report"
	"anesim/tools/anesim/internal/flags"
	"anesim/tools/anesim/internal/input"
	"anesim/tools/anesim/internal/interrupt"
	"anesim/tools/anesim/internal/text"
	"anesim/tools/anesim/internal/usage"
)

// explainFlags holds the flags of explain.
type explainFlags struct {
	runFlags
	layer string
	flags.Dims
	inMemory bool
	tables   bool
	top      int
}

func explainCommand() *cobra.Command {
	var f explainFlags
	c := &cobra.Command{
		Use:   "explain FILE",
		Short: "Show what bounds a model and what makes it faster",
		Long: `Explain runs a compiled program, a network or a layer, prints what bounds each descriptor
or layer and by how much, and tries changes. It runs each change and prints those that
take less time, largest gain first, with a command that shows the gain and with the cost
elsewhere. All changes are ones that a user can make:
  layers     pixels in a row or a column; height and width swapped; softmax, norms and
             reductions along another axis; channels padded to multiples of 16; a batch
             as groups; a matmul as a 1x1 convolution or with swapped operands
  networks   the layers that take most (--top): parallel or consecutive convolutions and
             matmuls merged, convolutions split, tensors in L2 or in memory
  programs   register fields that a compiler chooses (--set), on all descriptors at once:
             strides in L2, tile height, output-channel group, MAC engines; changes that
             alter the output values are left out
  weights    half of them zero, in convolutions of stride 2, where zeros are skipped
  all        tiles gated, if that saves energy and costs no time (--gate-tiles)
Then it times the model on variants of the chip (faster clock, more bandwidth, more L2
banks), which shows limits that no change to the model can move.

Layers of a network are reshaped, merged and split within the network; a change that needs
more programs is left out. Other changes are tried on the layer alone with its tensors
in memory; what they gain within the network also depends on the neighboring layers.`,
		Example: `  anesim explain tools/anesim/examples/resnet50.yaml
  anesim explain model.hwx --json
  anesim explain --layer "softmax c=64 h=8 w=8"`,
		ValidArgsFunction: flags.CompleteNetwork,
		RunE:              f.run,
	}
	s := c.Flags()
	f.RegisterOnly(s, "chip", "host", "machine", "clock", "gate-tiles", "seed", "json")
	s.StringVar(&f.layer, "layer", "", "explain a layer, `\"OP key=value...\"`, instead of a file")
	f.Dims.Register(s)
	s.BoolVar(&f.inMemory, "in-memory", false, "send every tensor between a network's layers to memory and back")
	s.BoolVar(&f.tables, "tables", false, "use a lookup table for Elu, Selu, Celu and Softsign of ONNX, MIL and Core ML: cheaper than their exact forms, and less exact")
	s.IntVar(&f.top, "top", explain.DefaultTop, "try changes on the `N` kinds of layers that take most")
	flags.CompleteFlags(c)
	return c
}

func (f *explainFlags) run(c *cobra.Command, args []string) error {
	f.TimingOnly, f.Repeat = true, 1
	o, err := f.Options()
	if err != nil {
		return err
	}
	if f.top < 1 {
		return usage.Errorf("--top %d: want 1 or more", f.top)
	}
	how := explain.Options{Top: f.top}
	var m *anesim.Model
	switch {
	case f.layer != "" && len(args) > 0:
		return usage.Errorf("--layer and a file are mutually exclusive")
	case f.layer != "":
		m, err = input.ParseLayer(strings.Fields(f.layer))
	default:
		if err := usage.OneFile(c, args); err != nil {
			return err
		}
		how.File = args[0]
		m, err = f.Dims.Open(anesim.OpenOptions{InMemory: f.inMemory, Tables: f.tables}, args[0], args, c.InOrStdin())
	}
	if err != nil {
		return err
	}
	// Commands in the report repeat the user's flags, so that each shows the gain that is printed with it.
	for _, name := range [...]string{"chip", "host", "machine", "clock", "gate-tiles", "seed"} {
		if x := c.Flags().Lookup(name); x.Changed {
			how.Flags = append(how.Flags, "--"+name, x.Value.String())
		}
	}
	how.Flags = append(how.Flags, f.Dims.Flags()...)
	ctx, stop := interrupt.Context()
	defer stop()
	doc, err := explain.Explain(ctx, m, o, how)
	if err != nil {
		return input.ModelError(m, how.File, err)
	}
	if f.JSON {
		return report.WriteDocument(c.OutOrStdout(), doc)
	}
	if err := text.WriteHostShare(c.OutOrStdout(), doc, &o); err != nil {
		return err
	}
	return text.WriteExplanation(c.OutOrStdout(), doc, f.top)
}
