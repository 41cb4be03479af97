package anesim

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/x448/float16"

	"anesim/internal/network/keys"
	"anesim/internal/spelling"
	"anesim/loader/layer"
	"anesim/loader/network/list"
)

// A LayerError reports an operation or keys that do not define a layer. This is a mistake of the
// caller, not a limit of the engine. Err is the cause; it is a *[keys.KeyError] if a key is wrong.
type LayerError struct {
	Op      string
	Err     error
	Nearest []string // similar operations or keys
}

// Error returns the message of e.Err, followed by the suggestions of e.Nearest if there are any.
func (e *LayerError) Error() string { return e.Err.Error() + spelling.Hint(e.Nearest) }

// Unwrap returns e.Err.
func (e *LayerError) Unwrap() error { return e.Err }

// findOperation returns the operation with the given name, such as "conv". If there is none, it
// returns a *[LayerError] with similar names.
func findOperation(name string) (*keys.Operation, error) {
	if o, ok := keys.Find(name); ok {
		return o, nil
	}
	names := keys.Names()
	return nil, &LayerError{name, fmt.Errorf("unknown operation %q; want one of %s", name, strings.Join(names, " ")), spelling.Nearest(name, names)}
}

// newRefusalError returns the error for a layer that cannot be lowered because of err. If a key is
// wrong, it is a *[LayerError]. If the engine does not support the layer, it is err with a similar
// layer that the engine supports.
func newRefusalError(op string, words map[string]string, m layer.Memories, err error) error {
	o, ok := keys.Find(op)
	if !ok || !keys.Refused(err) {
		return wrapLayerError(op, err)
	}
	return o.Refuse(words, m, err)
}

// wrapLayerError returns err as a *[LayerError] with similar keys if err reports a wrong key of
// operation op. It returns any other error unchanged.
func wrapLayerError(op string, err error) error {
	var key *keys.KeyError
	switch {
	case errors.As(err, &key):
		var near []string
		if !slices.Contains(key.Known, key.Key) {
			near = spelling.Nearest(key.Key, key.Known)
		}
		return &LayerError{op, err, near}
	}
	return err
}

// weightNames lists the names under which [Options.Inputs] can give the constants of a single
// layer.
var weightNames = [...]string{"weights", "bias", "second"}

// hasWeights reports whether o.Inputs sets at least one of the constants that a single layer can
// have: "weights", "bias" or "second".
func (o *Options) hasWeights() bool {
	for _, name := range weightNames {
		if _, ok := o.Inputs[name]; ok {
			return true
		}
	}
	return false
}

// setWeights copies the constants of layer l from o.Inputs. It returns an *[InputError] if one has
// the wrong number of elements.
func setWeights(l *list.Layer, o *Options) error {
	need := list.Needs(&l.Lower)
	for i, w := range [...]struct {
		to *[]float16.Float16
		n  int
	}{{&l.Weights.Filter, need.Filter}, {&l.Weights.Bias, need.Bias}, {&l.Weights.Second, need.Second}} {
		name := weightNames[i]
		data, ok := o.Inputs[name]
		if !ok {
			continue
		}
		if len(data) != w.n {
			return &InputError{Name: name, What: fmt.Sprintf("found %d elements; want %d for this layer", len(data), w.n)}
		}
		*w.to = data
	}
	return nil
}

// withoutWeights returns a copy of inputs without the constants of a single layer, such as
// "weights" or "bias".
func withoutWeights(inputs map[string][]float16.Float16) map[string][]float16.Float16 {
	ports := make(map[string][]float16.Float16, len(inputs))
	for name, data := range inputs {
		if !slices.Contains(weightNames[:], name) {
			ports[name] = data
		}
	}
	return ports
}
