package anesim

import (
	"bytes"
	"fmt"
	"strings"

	"anesim/loader"
	"anesim/loader/lower"
)

// maxJoined bounds the layers that a container is made of.
const maxJoined = 16

// Procedures is a container with a procedure for each of some layers, as "add c=4". A
// procedure is called like its operation, one that is there again with its number behind;
// its ports are its own name, a dot and theirs. Weights are those of seed.
//
// Errors are a *[LayerError] or what the engine cannot do.
func Procedures(seed uint64, layers ...string) (*Model, error) {
	if len(layers) == 0 || len(layers) > maxJoined {
		return nil, fmt.Errorf("%d layers: want 1 to %d", len(layers), maxJoined)
	}
	var first *loader.Builder
	taken := map[string]bool{}
	for i, text := range layers {
		words := strings.Fields(text)
		if len(words) == 0 {
			return nil, fmt.Errorf("layer %d: want an operation and its keys", i+1)
		}
		m, err := Layer(words[0], words[1:]...)
		if err != nil {
			return nil, err
		}
		l := &m.net.Layers[0]
		w, err := l.Complete(seed)
		if err != nil {
			return nil, layerError(l.Op, err)
		}
		c, err := lower.Compile(l.Lower, w)
		if err != nil {
			return nil, layerError(l.Op, err)
		}
		b := c.Builder
		b.Procedure = words[0]
		if taken[b.Procedure] {
			b.Procedure = fmt.Sprint(words[0], i+1)
		}
		taken[b.Procedure] = true
		for k := range b.Ports {
			b.Ports[k].Name = b.Procedure + "." + b.Ports[k].Name
		}
		if first == nil {
			first = b
		} else {
			first.Also = append(first.Also, b)
		}
	}
	c, err := first.Container()
	if err != nil {
		return nil, err
	}
	file := c.Bytes()
	return Read(strings.Join(layers, " / "), bytes.NewReader(file), int64(len(file)))
}
