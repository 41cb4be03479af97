package network

import (
	"errors"

	"anesim/loader/layer"
	"anesim/loader/network/graph"
	"anesim/loader/network/onnx"
)

// packWeights gives weights made of a packed constant its form.
func packWeights(w *layer.Weights, p *graph.Packing) {
	if p == nil || w.Filter == nil {
		return
	}
	w.Scale = p.Scale
	switch p.Form {
	case graph.Bytes:
		w.Form = layer.FormInt8
	case graph.Palette:
		w.Form = layer.FormPalette
	case graph.Sparse:
		w.Form = layer.FormSparse
	}
}

// stored is a constant of the file.
func stored(t *onnx.Tensor) *graph.Const {
	dims := make([]int, len(t.Dims))
	for i, d := range t.Dims {
		dims[i] = int(d)
	}
	return &graph.Const{Dims: dims, Type: t.Type, Source: t}
}

var errBudget = errors.New("constants of many times the bytes of the file, or beyond what is worked out")

// What constants that are worked out take: a number each in and out of float64.
const (
	numberBytes = 8
	halfBytes   = 2
	foldedBytes = 2 * numberBytes // a byte of the file
	maxFolded   = 512 << 20
)
