package input

import (
	"errors"
	"strings"

	"anesim"
	"anesim/internal/network/keys"
	"anesim/tools/anesim/internal/usage"
)

// ParseLayer returns a model of the layer that words describe: an operation, followed by keys in
// the form key=value. If the words are not valid, the error is a *[usage.Error].
func ParseLayer(words []string) (*anesim.Model, error) {
	if len(words) == 0 {
		return nil, usage.Errorf("missing operation; want one of %s", strings.Join(keys.Names(), " "))
	}
	m, err := anesim.Layer(words[0], words[1:]...)
	var mistake *anesim.LayerError
	if errors.As(err, &mistake) {
		return nil, usage.Of(err)
	}
	return m, err
}
