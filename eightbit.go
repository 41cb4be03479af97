package anesim

import (
	"fmt"

	"github.com/x448/float16"

	"anesim/firmware/engine"
	"anesim/hw"
	"anesim/loader"
	"anesim/loader/network/list"
)

// listByteTensors returns the names of the tensors of n with 8-bit elements, with their widths.
func listByteTensors(n *list.Network) map[string]int {
	widths := map[string]int{}
	for i := range n.Layers {
		l := &n.Layers[i]
		if l.Lower.Op.ElementBits() == 8 { // elementwise: all tensors have the same shape
			widths[l.Output] = l.Out.W
			for _, in := range l.Inputs {
				widths[in] = l.Out.W
			}
		}
	}
	return widths
}

// checkBytes returns an *[InputError] unless the values of the named input, whose elements have 8
// bits, are whole numbers from 0 to hw.MaxByte.
func checkBytes(name string, data []float16.Float16) error {
	for i, h := range data {
		if x := h.Float32(); !(x >= 0 && x <= hw.MaxByte) || x != float32(byte(x)) {
			return &InputError{Name: name, What: fmt.Sprintf("element %d is %v; want whole numbers from 0 to %d, because a layer reads 8-bit elements", i, x, hw.MaxByte)}
		}
	}
	return nil
}

// packBytes returns the contents of port p for the values of a tensor with 8-bit elements. Its rows
// have width elements. A program declares its ports in fp16, and each fp16 element from the start of
// a row holds two elements of the tensor (seen in the one program with 8-bit elements).
func packBytes(p *loader.Port, data []float16.Float16, width int) []float16.Float16 {
	packed := make([]float16.Float16, engine.Elements(p))
	for i, h := range data {
		row, x := i/width, i%width
		packed[row*p.Shape[3]+x/2] |= float16.Float16(byte(h.Float32())) << (x % 2 * 8)
	}
	return packed
}

// unpackBytes is the inverse of packBytes.
func unpackBytes(p *loader.Port, packed []float16.Float16, width int) []float16.Float16 {
	data := make([]float16.Float16, len(packed)/p.Shape[3]*width)
	for i := range data {
		row, x := i/width, i%width
		data[i] = float16.Fromfloat32(float32(byte(packed[row*p.Shape[3]+x/2] >> (x % 2 * 8))))
	}
	return data
}

// tensorValues returns the values of the tensor of a network that a port has.
func (r *execution) tensorValues(t *engine.Tensor) []float16.Float16 {
	if width, ok := r.byteTensors[t.Port.Name]; ok {
		return unpackBytes(t.Port, t.Data, width)
	}
	return t.Data
}
