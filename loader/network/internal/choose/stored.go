package choose

import (
	"github.com/x448/float16"

	"anesim/internal/network/graph"
	"anesim/loader/layer"
)

// leastStored is the number of weights from which they stay in the file. Fewer are read faster than
// the file is opened again.
const leastStored = 1 << 16

// productWeights returns the weights of a product with the constant c. Large ones stay in the file, if
// it can be read later: the time of a product with a dense matrix depends on its size only.
func productWeights(c *graph.Const) (layer.Weights, error) {
	if c.Elements() >= leastStored {
		if stays, err := c.StaysInFile(); stays || err != nil {
			return layer.Weights{Stored: storedWeights{c}}, err
		}
	}
	h, err := c.Halves()
	return layer.Weights{Filter: h}, err
}

// A storedWeights is a [layer.StoredWeights] in a network's file.
type storedWeights struct{ c *graph.Const }

func (s storedWeights) Len() int { return s.c.Elements() }

func (s storedWeights) Read() ([]float16.Float16, error) {
	own := *s.c // several goroutines may read it at once, and Halves counts in it
	return own.Halves()
}
