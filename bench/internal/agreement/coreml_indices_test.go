package agreement

import (
	"fmt"
	"math"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	nt "anesim/internal/network/neuraltest"
)

// TestCoreMLIndices computes layers of Core ML's older form that select or order elements, with values
// from their definition.
func TestCoreMLIndices(t *testing.T) {
	row := []float64{3, -2, 0.5, 7, 1, -4}
	matrix := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9}
	names := func(n ...string) []string { return n }
	one := func(n int) nt.Message { return nt.Message{}.Int(1, n) }
	type tensor struct {
		dims []int
		v    []float64
	}
	x, m := tensor{[]int{1, 6}, row}, tensor{[]int{3, 3}, matrix}
	for _, tc := range []struct {
		name   string
		kind   protowire.Number
		params nt.Message
		in     []tensor
		dims   []int
		want   []float64
	}{
		{"argSort, the smallest first", 1461, one(1), []tensor{x}, []int{1, 6}, []float64{5, 1, 2, 4, 0, 3}},
		{"argSort, the largest first", 1461, one(-1).Int(2, 1), []tensor{x}, []int{1, 6}, []float64{3, 0, 4, 2, 1, 5}},
		{"topK", 1015, one(-1).Int(2, 2), []tensor{x}, []int{1, 2}, []float64{7, 3}},
		{"topK of the smallest", 1015, one(1).Int(2, 3).Int(3, 1), []tensor{x}, []int{1, 3}, []float64{-4, -2, 0.5}},
		{"slidingWindows", 1005, one(-1).Int(2, 4).Int(3, 2), []tensor{x}, []int{1, 2, 4}, []float64{3, -2, 0.5, 7, 0.5, 7, 1, -4}},
		{"matrixBandPart", 1315, one(0).Int(2, 1), []tensor{m}, []int{3, 3}, []float64{1, 2, 0, 0, 5, 6, 0, 0, 9}},
		{"matrixBandPart of all below", 1315, one(-1).Int(2, 0), []tensor{m}, []int{3, 3}, []float64{1, 0, 0, 4, 5, 0, 7, 8, 9}},
		{"lowerTriangular", 1320, one(1), []tensor{m}, []int{3, 3}, []float64{1, 2, 0, 4, 5, 6, 7, 8, 9}},
		{"upperTriangular", 1325, one(1), []tensor{m}, []int{3, 3}, []float64{0, 2, 3, 0, 0, 6, 0, 0, 0}},
		{"oneHot", 1450, one(4).Int(2, -1).Float(3, 2).Float(4, -1), []tensor{{[]int{3}, []float64{2, 0, 3}}}, []int{3, 4}, []float64{-1, -1, 2, -1, 2, -1, -1, -1, -1, -1, -1, 2}},
		{"gatherAlongAxis", 952, one(-1), []tensor{m, {[]int{3, 2}, []float64{2, 0, 1, 1, 0, 2}}}, []int{3, 2}, []float64{3, 1, 5, 5, 7, 9}},
		{"gatherND", 940, nil, []tensor{m, {[]int{2, 2}, []float64{2, 0, 1, 1}}}, []int{2}, []float64{7, 5}},
		{"scatterND", 945, one(1), []tensor{m, {[]int{2, 2}, []float64{2, 0, 1, 1}}, {[]int{2}, []float64{10, 20}}}, []int{3, 3}, []float64{1, 2, 3, 4, 25, 6, 17, 8, 9}},
		{"scatterAlongAxis", 954, one(1).Int(2, 5), []tensor{m, {[]int{3, 1}, []float64{2, 0, 1}}, {[]int{3, 1}, []float64{10, 0, 9}}}, []int{3, 3}, []float64{1, 2, 10, 4, 5, 6, 7, 9, 9}},
		{"modBroadcastable has the sign of the divisor", 865, nil, []tensor{x, {[]int{1, 1}, []float64{2}}}, []int{1, 6}, []float64{1, 0, 0.5, 1, 1, 0}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var ports nt.Message
			var in []string
			values := map[string][]float64{}
			for i, v := range tc.in {
				name := fmt.Sprintf("x%d", i)
				in = append(in, name)
				values[name] = v.v
				ports = nt.Join(ports, nt.Input(name, v.dims...))
			}
			data := nt.Model(nt.Join(ports, nt.Output("y", tc.dims...)), true, nt.Layer("layer", tc.kind, tc.params, in, names("y")))
			compareLayers(t, data, values, map[string][]float64{"y": tc.want}, 0.002)
		})
	}

	t.Run("a sequence through a GRU", func(t *testing.T) {
		// h by the definition, with the gates update, reset and output
		const in, out, steps = 3, 2, 4
		var ws, rs, bs [3][]float64
		var weights nt.Message
		for g := range 3 {
			ws[g], rs[g], bs[g] = someNumbers(out*in, 3*g), someNumbers(out*out, 3*g+1), someNumbers(out, 3*g+2)
			at := protowire.Number(g)
			weights = nt.Join(weights, nt.Weights(30+at, ws[g]...), nt.Weights(50+at, rs[g]...), nt.Weights(70+at, bs[g]...))
		}
		xs := someNumbers(steps*in, 8)
		sigmoid := func(v float64) float64 { return 1 / (1 + math.Exp(-v)) }
		product := func(v, w []float64) []float64 {
			y := make([]float64, out)
			for i := range w {
				y[i/len(v)] += v[i%len(v)] * w[i]
			}
			return y
		}
		act := func(num protowire.Number) nt.Message { return nt.Message{}.Bytes(10, nt.Message{}.Bytes(num, nil)) }
		for _, tc := range []struct{ sequence, reverse int }{{0, 0}, {1, 0}, {0, 1}} {
			h := make([]float64, out)
			var want []float64
			for s := range steps {
				if tc.reverse != 0 {
					s = steps - 1 - s
				}
				sum := func(g int, state []float64) []float64 {
					z := product(xs[s*in:s*in+in], ws[g])
					for i, v := range product(state, rs[g]) {
						z[i] += v + bs[g][i]
					}
					return z
				}
				update, reset := sum(0, h), sum(1, h)
				kept := make([]float64, out)
				for i := range out {
					kept[i] = sigmoid(reset[i]) * h[i]
				}
				next := sum(2, kept)
				for i := range out {
					z := sigmoid(update[i])
					next[i] = (1-z)*math.Tanh(next[i]) + z*h[i]
				}
				h = next
				want = append(want, h...)
			}
			rows := 1 + tc.sequence*(steps-1)
			params := nt.Join(nt.Message{}.Int(1, in).Int(2, out), act(40), act(30), nt.Message{}.Int(15, tc.sequence).Int(20, 1).Int(100, tc.reverse), weights)
			data := nt.Model(nt.Join(nt.Input("x", steps, 1, in, 1, 1), nt.Output("y", rows, 1, out, 1, 1)), false,
				nt.Layer("gru", 410, params, names("x"), names("y")))
			compareLayers(t, data, map[string][]float64{"x": xs}, map[string][]float64{"y": want[(steps-rows)*out:]}, 0.02)
		}
	})
}
