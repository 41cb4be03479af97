package bundle

import (
	bin "encoding/binary"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/x448/float16"

	"anesim/loader/layer"
	"anesim/loader/network/list"
)

// WriteStructure writes a description of n to w: its inputs and outputs, and the names, shapes and
// options of its layers. [WriteWeights] writes the values of weights and constants. If both
// functions write the same bytes for two networks, the networks have equal programs but for their
// names, so a hash of the bytes can serve as a cache key. WriteStructure returns the first error from
// w.
func WriteStructure(n *list.Network, w io.Writer) error {
	_, err := fmt.Fprintf(w, "network in memory %t outputs first %t\ninputs %#v\noutputs %q\n", n.InMemory, n.OutputsFirst, n.Inputs, n.Outputs)
	for i := 0; i < len(n.Layers) && err == nil; i++ {
		l := n.Layers[i]
		x := &l.Weights
		_, err = fmt.Fprintf(w, "weights %d %d %d %d %d %d dense %t sizes %t %v %d\n",
			x.FilterLen(), len(x.Bias), len(x.Second), len(x.Table), len(x.Tables), len(x.Reciprocal), x.Dense, x.SizesOnly, x.Form, len(x.Scale))
		// Programs do not depend on the names of fused layers, which lowering adds to, or on
		// the position in the file.
		l.Weights, l.Folded, l.Node, l.Line = layer.Weights{}, nil, 0, 0
		l.Host = nil // work of the host is in no program
		if err == nil {
			_, err = fmt.Fprintf(w, "layer %#v\n", l)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(n.Constants)) {
		if err == nil {
			_, err = fmt.Fprintf(w, "constant %q %d\n", name, len(n.Constants[name]))
		}
	}
	return err
}

// WriteWeights writes the values of the weights and constants of n to w. Each list of values
// follows its length, a 64-bit little-endian number. WriteWeights returns the first error from w, or
// from reading weights.
func WriteWeights(n *list.Network, w io.Writer) error {
	var err error
	for i := range n.Layers {
		x := &n.Layers[i].Weights
		filter := x.Filter
		if filter == nil && x.Stored != nil && err == nil {
			filter, err = x.Stored.Read()
		}
		for _, v := range [...][]float16.Float16{filter, x.Bias, x.Second, x.Scale} {
			if err == nil {
				err = writeHalves(w, v)
			}
		}
		for _, b := range append([][]byte{x.Table, x.Reciprocal}, x.Tables...) {
			if err == nil {
				err = writeBytes(w, b)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(n.Constants)) {
		if err == nil {
			err = writeHalves(w, n.Constants[name])
		}
	}
	return err
}

func writeBytes(w io.Writer, b []byte) error {
	if _, err := w.Write(bin.LittleEndian.AppendUint64(nil, uint64(len(b)))); err != nil {
		return err
	}
	_, err := w.Write(b)
	return err
}

func writeHalves(w io.Writer, v []float16.Float16) error {
	if _, err := w.Write(bin.LittleEndian.AppendUint64(nil, uint64(len(v)))); err != nil {
		return err
	}
	const chunk = 1 << 14
	b := make([]byte, 0, 2*min(len(v), chunk))
	for part := range slices.Chunk(v, chunk) {
		b = b[:0]
		for _, x := range part {
			b = bin.LittleEndian.AppendUint16(b, x.Bits())
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return nil
}
