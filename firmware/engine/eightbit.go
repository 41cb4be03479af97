package engine

import (
	"fmt"

	"github.com/x448/float16"

	"anesim/hw"
	"anesim/loader"
)

// A program declares the ports of tensors with 8-bit elements in fp16. Each fp16 element from the
// start of a row holds two elements of the tensor (seen in the one program with 8-bit elements).

// PackBytes returns the contents of port p for the values of a tensor with 8-bit elements, whose
// rows have width elements. It returns an *[InputError] unless the values are whole numbers from 0
// to [hw.MaxByte].
func PackBytes(p *loader.Port, data []float16.Float16, width int) ([]float16.Float16, error) {
	packed := make([]float16.Float16, Elements(p))
	for i, h := range data {
		x := h.Float32()
		if !(x >= 0 && x <= hw.MaxByte) || x != float32(byte(x)) {
			return nil, &InputError{p.Name, fmt.Sprintf("element %d is %v; want whole numbers from 0 to %d, because a layer reads 8-bit elements", i, x, hw.MaxByte)}
		}
		row, column := i/width, i%width
		packed[row*p.Shape[3]+column/2] |= float16.Float16(byte(x)) << (column % 2 * 8)
	}
	return packed, nil
}

// UnpackBytes returns a tensor with 8-bit elements, whose rows have width elements, from the
// contents of its port.
func (t Tensor) UnpackBytes(width int) Tensor {
	row := t.Port.Shape[3]
	data := make([]float16.Float16, len(t.Data)/row*width)
	for i := range data {
		column := i % width
		data[i] = float16.Fromfloat32(float32(byte(t.Data[i/width*row+column/2] >> (column % 2 * 8))))
	}
	port := clonePort(t.Port)
	port.Shape[3], port.Strides[3] = width, 1
	return Tensor{port, data}
}

// convertToTruthValues replaces each generated fp16 value in data by two bytes that are 0 or 1
// each, as ports with 8-bit elements expect.
func convertToTruthValues(data []float16.Float16) {
	for i, h := range data {
		data[i] = h>>15 | h>>5&1<<8
	}
}
