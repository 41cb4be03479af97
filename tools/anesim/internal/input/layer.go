package input

import (
	"errors"
	"strings"

	"anesim"
	"anesim/loader/network/keys"
	"anesim/tools/anesim/internal/usage"
)

// ParseLayer returns the model of a layer, given as an operation and key=value words.
func ParseLayer(words []string) (*anesim.Model, error) {
	if len(words) == 0 {
		return nil, usage.Errorf("missing operation: want one of %s", strings.Join(keys.Names(), " "))
	}
	m, err := anesim.Layer(words[0], words[1:]...)
	var mistake *anesim.LayerError
	if errors.As(err, &mistake) {
		return nil, usage.Of(err)
	}
	return m, err
}
