package explain

import (
	"context"

	"github.com/x448/float16"

	"anesim"
	"anesim/internal/report"
	"anesim/loader/layer"
)

// maxPruned is the maximum number of weights that are generated to estimate the gain of
// pruning.
const maxPruned = 4 << 20

// tryPruning times convolution l with every second weight set to zero. It tries this only for
// convolutions with strides of two, because the compiler can leave out zeros only for these.
func (x *explainer) tryPruning(ctx context.Context, l *layer.Layer, words, names []string, before *report.Cost) error {
	w := &l.Window
	n := l.Cout * l.In.C / max(1, l.Groups) * w.Kh * w.Kw
	if l.Op != layer.Convolution || w.Sy != 2 || w.Sx != 2 || n > maxPruned {
		return nil
	}
	x.doc.Tried.All++
	m, err := anesim.Layer(words[0], words[1:]...)
	if err != nil {
		return x.recordFailure(ctx, err)
	}
	weights := make([]float16.Float16, n)
	for i := range weights {
		if i%2 == 0 {
			// The values have no effect on time; only the places of the zeros do.
			weights[i] = float16.Fromfloat32(1)
		}
	}
	o := x.options
	o.Shapes, o.State, o.Overrides = nil, nil, nil
	o.Inputs = map[string][]float16.Float16{"weights": weights}
	after, err := x.measureModel(ctx, m, o)
	if err != nil {
		return x.recordFailure(ctx, err)
	}
	part := ""
	if len(names) > 0 {
		part = names[0]
	}
	x.addChange(Change{
		Part: part, Alike: max(1, len(names)), Kind: "sparsity", Change: "prune half of the weights: every other one zero", Needs: "weights trained with these zeros, which the compiler omits in convolutions of stride 2: --in weights=FILE.npy",
		Results: "other: only training can tell whether they are good enough", Before: *before, After: *after, Alone: part != "", CommandBefore: x.formatLayerCommand(words),
	}, max(1, len(names)))
	return nil
}
