package anesim

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/x448/float16"

	"anesim/hw/spelling"
	"anesim/loader/layer"
	"anesim/loader/network/keys"
	"anesim/loader/network/list"
)

// A LayerError is an operation and keys that do not say a layer: a mistake of who wrote
// them, not a limit of the engine. Err is what is wrong, a *[network.KeyError] for a key.
type LayerError struct {
	Op      string
	Err     error
	Nearest []string // operations or keys that may have been meant
}

func (e *LayerError) Error() string { return e.Err.Error() + spelling.Hint(e.Nearest) }

// Unwrap returns the cause.
func (e *LayerError) Unwrap() error { return e.Err }

// operation finds an operation by its name, and says which may have been meant.
func operation(name string) (*keys.Operation, error) {
	if o, ok := keys.Find(name); ok {
		return o, nil
	}
	names := keys.Names()
	return nil, &LayerError{name, fmt.Errorf("unknown operation %q: want one of %s", name, strings.Join(names, " ")), spelling.Nearest(name, names)}
}

// refusal says which layer works near one that the engine does not take.
func refusal(op string, words map[string]string, m layer.Memories, err error) error {
	o, ok := keys.Find(op)
	if !ok || !keys.Refused(err) {
		return layerError(op, err)
	}
	return o.Refuse(words, m, err)
}

// layerError tells mistakes in keys apart.
func layerError(op string, err error) error {
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

// weightNames are the inputs of a single layer that are its constants.
var weightNames = [...]string{"weights", "bias", "second"}

// givesWeights reports whether some of a single layer's constants are given.
func (o *Options) givesWeights() bool {
	for _, name := range weightNames {
		if _, ok := o.Inputs[name]; ok {
			return true
		}
	}
	return false
}

// takeWeights gives a layer the constants that the options have.
func takeWeights(l *list.Layer, o *Options) error {
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
			return &InputError{Name: name, What: fmt.Sprintf("%d elements, %s of the layer has %d", len(data), name, w.n)}
		}
		*w.to = data
	}
	return nil
}

// withoutWeights are the inputs that are none of a single layer's constants.
func withoutWeights(inputs map[string][]float16.Float16) map[string][]float16.Float16 {
	ports := make(map[string][]float16.Float16, len(inputs))
	for name, data := range inputs {
		if !slices.Contains(weightNames[:], name) {
			ports[name] = data
		}
	}
	return ports
}
