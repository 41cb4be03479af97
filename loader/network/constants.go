package network

import (
	"anesim/loader/network/choose"
	"anesim/loader/network/graph"
	"anesim/loader/network/onnx"
)

// stored is a constant of the file.
func stored(t *onnx.Tensor) *graph.Const {
	dims := make([]int, len(t.Dims))
	for i, d := range t.Dims {
		dims[i] = int(d)
	}
	return &graph.Const{Dims: dims, Type: t.Type, Source: t}
}

// What constants that are worked out take: a number each in and out of float64.
const (
	foldedBytes = 2 * choose.NumberBytes // a byte of the file
	maxFolded   = 512 << 20
)
