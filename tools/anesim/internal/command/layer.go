package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/x448/float16"

	"anesim/loader"
	"anesim/loader/lower"
	"anesim/loader/network"
)

// layerFlags are the flags of layer: run's, and where the program goes.
type layerFlags struct {
	runFlags
	emit string
}

func layerCommand() *cobra.Command {
	var f layerFlags
	c := &cobra.Command{
		Use:   "layer OP key=value...",
		Short: "Lower one layer to a program and run it",
		Long: `Layer makes a program of one layer, as the engine's compiler would, and runs it.

Its inputs are the ports x and z (x0, x1, ... of concat). Weights are pseudo-random from
--seed, scaled so that results keep the magnitude of the inputs, unless --in gives them:
"weights" ([cout][cin/groups][kh][kw], [k][n] of matmul, [n][k] of linear), "bias" and
"second" (a constant operand). A layer that the engine cannot run is refused with the
limit it breaks.

` + idleHelp + `

Operations and their keys; what a key is when left out stands in parentheses:

` + operationsHelp(),
		Example: `  anesim layer conv n=1 cin=256 h=28 w=28 cout=256 k=3 pad=1 --timing-only
  anesim layer matmul m=128 k=768 n=768 rhs=runtime --json
  anesim layer softmax c=64 h=8 w=8 axis=c --emit softmax.hwx`,
		RunE: func(c *cobra.Command, args []string) error {
			return f.run(c.OutOrStdout(), args)
		},
	}
	f.register(c.Flags())
	c.Flags().StringVar(&f.emit, "emit", "", "write the program to `OUT.hwx`")
	return c
}

// operationsHelp lists the operations with their keys; operations with the same keys
// share an entry.
func operationsHelp() string {
	var names, keys []string
	for _, o := range network.Operations() {
		var b strings.Builder
		for _, k := range o.AllKeys() {
			fmt.Fprintf(&b, "      %-10s %s\n", k.Name, k.Help)
		}
		if n := len(keys); n > 0 && keys[n-1] == b.String() {
			names[n-1] += ", " + o.Name
			continue
		}
		names, keys = append(names, o.Name), append(keys, b.String())
	}
	var b strings.Builder
	for i := range names {
		fmt.Fprintf(&b, "  %s\n%s", names[i], keys[i])
	}
	return strings.TrimRight(b.String(), "\n")
}

// parseLayer makes a layer of an operation and its key=value words.
func parseLayer(words []string) (*network.Layer, error) {
	if len(words) == 0 {
		return nil, usage("which operation? One of %s", strings.Join(network.Names(), " "))
	}
	op, ok := network.Find(words[0])
	if !ok {
		return nil, usage("unknown operation %q: want one of %s", words[0], strings.Join(network.Names(), " "))
	}
	keys, err := op.ParseKeys(words[1:])
	if err != nil {
		return nil, &usageError{err}
	}
	l, err := op.Single(keys)
	if err != nil {
		return nil, layerError(op.Name, err)
	}
	l.Name = strings.Join(words, " ")
	return l, nil
}

// layerError names the operation in an error, and tells mistakes in keys apart.
func layerError(op string, err error) error {
	var key *network.KeyError
	var limit *lower.LimitError
	switch {
	case errors.As(err, &key):
		return &usageError{err}
	case errors.As(err, &limit):
		return fmt.Errorf("%s: %w", op, err)
	}
	return err
}

// lowerLayer makes a program of a layer.
func lowerLayer(l *network.Layer, seed uint64) (*loader.Program, error) {
	w, err := l.Complete(seed)
	if err != nil {
		return nil, layerError(l.Op, err)
	}
	p, err := lower.Lower(l.Lower, w)
	if err != nil {
		return nil, layerError(l.Op, err)
	}
	p.Name = l.Name
	return p, nil
}

func (f *layerFlags) run(w io.Writer, words []string) error {
	l, err := parseLayer(words)
	if err != nil {
		return err
	}
	if err := f.readWeights(l); err != nil {
		return err
	}
	if _, err := f.options(); err != nil {
		return err
	}
	p, err := lowerLayer(l, f.seed)
	if err != nil {
		return err
	}
	if f.emit != "" {
		if err := os.WriteFile(f.emit, p.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return f.runFlags.run(w, p)
}

// readWeights takes the constants among --in out of it.
func (f *layerFlags) readWeights(l *network.Layer) error {
	need := network.Needs(&l.Lower)
	ports := f.in[:0:0]
	for _, s := range f.in {
		name, file, _ := strings.Cut(s, "=")
		var into *[]float16.Float16
		var n int
		switch name {
		case "weights":
			into, n = &l.Weights.Filter, need.Filter
		case "bias":
			into, n = &l.Weights.Bias, need.Bias
		case "second":
			into, n = &l.Weights.Second, need.Second
		default:
			ports = append(ports, s)
			continue
		}
		data, err := readHalves(file)
		if err != nil {
			return inFile(file, err)
		}
		if len(data) != n {
			return inFile(file, fmt.Errorf("%d elements, %s of the layer has %d", len(data), name, n))
		}
		*into = data
	}
	f.in = ports
	return nil
}
