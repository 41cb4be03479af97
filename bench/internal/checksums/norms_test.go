package checksums

import (
	"bytes"
	"context"
	"math"
	"testing"

	"anesim"
	ox "anesim/internal/network/onnxtest"
	"anesim/internal/numpy"
	"anesim/internal/vectors"
)

// TestOpenLayerNorm computes a layer norm with the model, as TestOpen does with sums. The draws are a
// guess: the inputs, then gamma = 1 + 0.1 z and beta = 0.1 z. With exact means, the table for the
// root, and gamma and beta in one rounding they give 0.00066316, as those who know the script found;
// other scales that were tried give 0.00051 to 0.00059. The model's root is exact.
func TestOpenLayerNorm(t *testing.T) {
	const rows, columns, epsilon = 197, 768, 1e-5
	g := numpy.New(7)
	x, gamma, beta := g.Normals32(rows*columns), g.Normals32(columns), g.Normals32(columns)
	for i := range gamma {
		gamma[i] = 1 + float32(0.1*gamma[i])
		beta[i] *= 0.1
	}

	file := ox.Model(ox.Input("x", rows, columns), ox.Constant("gamma", []int{columns}, gamma...), ox.Constant("beta", []int{columns}, beta...),
		ox.Node("LayerNormalization", "y", []string{"x", "gamma", "beta"}, ox.Float("epsilon", epsilon)), ox.Output("y"))
	m, err := anesim.Read("norm.onnx", bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	res, err := m.Run(context.Background(), anesim.Options{Values: true, Inputs: map[string][]half{"x": toHalves(x)}})
	if err != nil {
		t.Fatal(err)
	}

	var want []float64
	for r := range rows {
		row := x[r*columns:][:columns]
		mean, squares := 0.0, 0.0
		for _, v := range row {
			mean += float64(v) / columns
		}
		for _, v := range row {
			squares += (float64(v) - mean) * (float64(v) - mean)
		}
		for i, v := range row {
			normal := (float64(v) - mean) / math.Sqrt(squares/columns+epsilon)
			want = append(want, normal*float64(gamma[i])+float64(beta[i]))
		}
	}
	v, err := relativeError(&Tensor{1, rows, columns, res.Outputs[0].Data}, want, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"layer_norm", "layer_norm_m5"} {
		published := cases(t)[name]
		t.Logf("%s: relative error %.5g; chip %.5g", name, v, published.RelativeError)
		if published.State != vectors.Open || math.Abs(v/published.RelativeError-1) < 1e-6 {
			t.Errorf("%s: state %s, relative error %.10g; chip %.10g", name, published.State, v, published.RelativeError)
		}
	}
}
