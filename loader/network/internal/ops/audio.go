package ops

import (
	"cmp"
	"fmt"
	"math"

	"anesim/internal/network/graph"
)

// The constants of audio: windows of samples, and the weights that turn a spectrum into bands of
// the mel scale. Their sizes are inputs.

// readSize returns the integer in input i of n, which must be a constant from 1 to [graph.MaxExtent].
func readSize(n *graph.Node, i int) (int, error) {
	c := n.Const(i)
	if c == nil {
		return 0, fmt.Errorf("input %d is missing or computed; want a constant", i)
	}
	v, err := c.Scalar()
	if err == nil && !(v >= 1 && v <= graph.MaxExtent) {
		err = fmt.Errorf("input %d is %g; want 1 to %d", i, v, graph.MaxExtent)
	}
	return int(v), err
}

// inferAudioWindow infers a HannWindow, HammingWindow or BlackmanWindow.
func inferAudioWindow(n *graph.Node) ([]graph.Result, error) {
	size, err := readSize(n, 0)
	return []graph.Result{{Dims: []int{size}, Type: graph.Type(n.Int("output_datatype", int(graph.Float)))}}, err
}

// foldAudioWindow computes the sum of cosines that each window is.
func foldAudioWindow(n *graph.Node, res []graph.Result) ([]*graph.Const, error) {
	weights := map[string][3]float64{"HannWindow": {0.5, 0.5, 0}, "HammingWindow": {25. / 46, 21. / 46, 0}, "BlackmanWindow": {0.42, 0.5, 0.08}}[n.Op]
	size := res[0].Dims[0]
	period := float64(size)
	if n.Int("periodic", 1) == 0 {
		period = max(1, period-1)
	}
	out := make([]float64, size)
	for i := range out {
		x := 2 * math.Pi * float64(i) / period
		out[i] = weights[0] - float64(weights[1]*math.Cos(x)) + float64(weights[2]*math.Cos(2*x))
	}
	return newResultConst(res, out), nil
}

func inferMelWeightMatrix(n *graph.Node) ([]graph.Result, error) {
	bands, err := readSize(n, 0)
	length, err1 := readSize(n, 1)
	d := []int{length/2 + 1, bands}
	return []graph.Result{{Dims: d, Type: graph.Type(n.Int("output_datatype", int(graph.Float)))}}, cmp.Or(err, err1)
}

// foldMelWeightMatrix computes the triangles of a MelWeightMatrix. The corners of each are the
// centers of its band and of both neighbors, which have equal distances on the mel scale.
func foldMelWeightMatrix(n *graph.Node, res []graph.Result) ([]*graph.Const, error) {
	var v [5]float64 // bands, length of the transform, sample rate, lowest and highest frequency
	for i := range v {
		c := n.Const(i)
		if c == nil {
			return nil, fmt.Errorf("input %d is missing; want 5 inputs", i)
		}
		var err error
		if v[i], err = c.Scalar(); err != nil {
			return nil, err
		}
	}
	rows, bands := res[0].Dims[0], res[0].Dims[1]
	mel := func(hertz float64) float64 { return 2595 * math.Log10(1+hertz/700) }
	low, high := mel(v[3]), mel(v[4])
	step := (high - low) / float64(bands+2)
	corner := func(i int) (int, error) {
		hertz := 700 * (math.Pow(10, (low+float64(float64(i)*step))/2595) - 1)
		k := math.Floor((v[1] + 1) * hertz / v[2])
		if !(k >= 0 && k < float64(rows)) {
			return 0, fmt.Errorf("band %d ends at %g Hz; want less than half the sample rate of %g Hz", i, hertz, v[2])
		}
		return int(k), nil
	}
	out := make([]float64, rows*bands)
	for band := range bands {
		var k [3]int
		for i := range k {
			var err error
			if k[i], err = corner(band + i); err != nil {
				return nil, err
			}
		}
		if k[0] == k[1] {
			out[k[1]*bands+band] = 1
		}
		for i := k[0]; i < k[1]; i++ {
			out[i*bands+band] = float64(i-k[0]) / float64(k[1]-k[0])
		}
		for i := k[1]; i < k[2]; i++ {
			out[i*bands+band] = float64(k[2]-i) / float64(k[2]-k[1])
		}
		if k[0] < k[1] {
			out[k[1]*bands+band] = 1
		}
	}
	return newResultConst(res, out), nil
}
