package ops

import (
	"fmt"
	"math"

	"anesim/internal/network/graph"
)

// squareMatrices returns the number and the extent of the square matrices in a tensor of shape d.
func squareMatrices(d []int) (count, n int, err error) {
	rank := len(d)
	if rank < 2 || d[rank-1] != d[rank-2] {
		return 0, 0, fmt.Errorf("input has shape %v; want square matrices", d)
	}
	return graph.Elements(d[:rank-2]), d[rank-1], nil
}

func inferDeterminant(n *graph.Node) ([]graph.Result, error) {
	d, err := n.Dims(0)
	if err != nil {
		return nil, err
	}
	if _, _, err := squareMatrices(d); err != nil {
		return nil, err
	}
	return newSingleResult(n, d[:len(d)-2]), nil
}

// foldDeterminant computes the determinant of each matrix.
func foldDeterminant(n *graph.Node, res []graph.Result) ([]*graph.Const, error) {
	v, d, err := readConstantOperand(n, 0)
	if err != nil {
		return nil, err
	}
	count, size, err := squareMatrices(d)
	if err != nil {
		return nil, err
	}
	out := make([]float64, count)
	for i := range out {
		a := append([]float64{}, v[i*size*size:(i+1)*size*size]...)
		out[i] = eliminate(a, size, nil)
	}
	return newResultConst(res, out), nil
}

// foldInverse computes the inverse of each matrix. That of a singular one has infinite elements.
func foldInverse(n *graph.Node, res []graph.Result) ([]*graph.Const, error) {
	v, d, err := readConstantOperand(n, 0)
	if err != nil {
		return nil, err
	}
	count, size, err := squareMatrices(d)
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(v))
	for i := range count {
		a := append([]float64{}, v[i*size*size:(i+1)*size*size]...)
		b := out[i*size*size : (i+1)*size*size]
		for k := range size {
			b[k*size+k] = 1
		}
		if eliminate(a, size, b) == 0 {
			for k := range b {
				b[k] = math.Inf(1)
			}
		}
	}
	return newResultConst(res, out), nil
}

// eliminate makes the matrix a, which has n rows and columns, the identity by adding multiples of
// rows to each other, does the same to b unless it is nil, and returns the determinant of a. It takes
// the row with the largest element first, for accuracy. If the determinant is 0, a and b are of no
// use.
func eliminate(a []float64, n int, b []float64) float64 {
	determinant := 1.0
	for k := range n {
		pivot := k
		for i := k + 1; i < n; i++ {
			if math.Abs(a[i*n+k]) > math.Abs(a[pivot*n+k]) {
				pivot = i
			}
		}
		if a[pivot*n+k] == 0 {
			return 0
		}
		for j := range n {
			if pivot != k {
				a[k*n+j], a[pivot*n+j] = a[pivot*n+j], a[k*n+j]
				if b != nil {
					b[k*n+j], b[pivot*n+j] = b[pivot*n+j], b[k*n+j]
				}
			}
		}
		if pivot != k {
			determinant = -determinant
		}
		p := a[k*n+k]
		determinant *= p
		for j := range n {
			a[k*n+j] /= p
			if b != nil {
				b[k*n+j] /= p
			}
		}
		for i := range n {
			f := a[i*n+k]
			// The determinant needs a triangle only: rows above stay if there is no b to solve for.
			if i == k || f == 0 || b == nil && i < k {
				continue
			}
			for j := range n {
				// The conversion forbids a fused multiply-add, so that all machines give the same bits.
				a[i*n+j] -= float64(f * a[k*n+j])
				if b != nil {
					b[i*n+j] -= float64(f * b[k*n+j])
				}
			}
		}
	}
	return determinant
}
