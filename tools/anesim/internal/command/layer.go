package command

import (
	"strings"

	"github.com/spf13/cobra"

	"anesim"
	"anesim/internal/outfile"
	"anesim/tools/anesim/internal/flags"
	"anesim/tools/anesim/internal/input"
	"anesim/tools/anesim/internal/interrupt"
)

// layerFlags holds the flags of layer.
type layerFlags struct {
	runFlags
	emit, over string
}

func layerCommand(plan *outfile.Plan) *cobra.Command {
	f := layerFlags{runFlags: runFlags{plan: plan}}
	c := &cobra.Command{
		Use:   "layer OP key=value...",
		Short: "Compile one layer to a program and run it",
		Long: `Layer compiles one layer to a program, as the engine's compiler would, and runs it.
Its inputs are the ports x and z (x0, x1, ... for concat). Weights are pseudo-random
(--seed), scaled so that results keep the magnitude of the inputs. --in replaces them:
"weights" ([cout][cin/groups][kh][kw], [k][n] for matmul, [n][k] for linear), "bias" and
"second" (a constant operand). A layer that the engine cannot run is refused; the error
names the limit that it exceeds.

With --over, one program serves the layer at every size of a range. --emit writes the
program for the largest size and OUT.hwx.params, which lists the register fields and port
sizes that depend on the size. anesim run OUT.hwx --bind KEY=VALUE runs it at another
size. A layer whose descriptors are not linear in the size is refused.

` + flags.IdleHelp + `

` + profilesHelp + `

` + formatOperationsHelp(),
		Example: `  anesim layer conv n=1 cin=256 h=28 w=28 cout=256 k=3 pad=1 --timing-only
  anesim layer linear m=64 k=4096 n=4096 --precision
  anesim layer matmul m=128 k=768 n=768 rhs=runtime --json
  anesim layer add c=4 --state y=z --repeat 4
  anesim layer softmax c=64 h=8 w=8 axis=c --emit softmax.hwx
  anesim layer matmul m=16 n=32 rhs=runtime --over k=32..128+32 --emit mm.hwx`,
		ValidArgsFunction: flags.CompleteLayer,
		RunE:              f.run,
	}
	f.Register(c.Flags())
	f.AllowMachines(c.Flags())
	c.Flags().StringVar(&f.emit, "emit", "", "write the program to `OUT.hwx`")
	c.Flags().StringVar(&f.over, "over", "", "write one program for all sizes of a range, `KEY=FROM..TO+STEP`; --bind KEY=VALUE selects one")
	flags.CompleteFlags(c)
	c.SetHelpFunc(showOperationHelp)
	return c
}

func (f *layerFlags) run(c *cobra.Command, words []string) error {
	ctx, stop := interrupt.Context()
	defer stop()
	var m *anesim.Model
	var parameters []byte // text of the file beside the program
	var err error
	if f.over != "" {
		m, parameters, err = f.newLayerOverRange(ctx, words)
	} else {
		m, err = input.ParseLayer(words)
	}
	if err != nil {
		return err
	}
	f.Rounds = true
	o, err := f.Options()
	if err != nil {
		return err
	}
	var written []string
	if f.emit != "" {
		written = append(written, f.emit)
	}
	if f.over != "" {
		name := input.ParametersFile(f.emit)
		if err := f.plan.Write("--over", name); err != nil {
			return err
		}
		written = append(written, name)
	}
	if err := f.planOutputs(m); err != nil { // before the first file is written
		return err
	}
	if f.emit != "" {
		programs, err := m.Programs(ctx, o)
		if err != nil {
			return err
		}
		contents := [][]byte{programs[0].Bytes(), parameters} // both or neither
		if err := outfile.WriteAll(written, func(i int) []byte { return contents[i] }); err != nil {
			return err
		}
	}
	return f.runFlags.run(c.OutOrStdout(), c.ErrOrStderr(), m, o, printing{header: true, model: "layer " + strings.Join(words, " "), written: written})
}
