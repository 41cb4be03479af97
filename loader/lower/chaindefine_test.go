package lower

import (
	"math"
	"slices"

	"github.com/x448/float16"

	"anesim/loader/layer"
)

// Define computes the network in float64, every layer rounded to fp16.
func (b *ChainNet) Define(in map[string][]float16.Float16) []float64 {
	v := map[string][]float64{}
	read := func(h []float16.Float16) []float64 {
		f := make([]float64, len(h))
		for i := range h {
			f[i] = float64(h[i].Float32())
		}
		return f
	}
	for _, t := range b.Net.Inputs {
		v[t.Name] = read(t.Values)
		if t.Values == nil {
			v[t.Name] = read(in[t.Name])
		}
	}
	for i := range b.Net.Nodes {
		n := &b.Net.Nodes[i]
		l, w := &n.Part.Layer, &n.Part.Weights
		x := v[n.Inputs[0]]
		out := n.Part.Shape
		y := make([]float64, out.Elements())
		rows := func(f func(x, y []float64)) {
			for at := 0; at < len(x); at += l.In.W {
				f(x[at:at+l.In.W], y[at:at+l.In.W])
			}
		}
		switch l.Op {
		case layer.Linear:
			filter := read(w.Filter)
			for r := range len(x) / l.In.W {
				for c := range l.Columns {
					sum, column := 0.0, filter[c*l.In.W:][:l.In.W]
					for k, a := range x[r*l.In.W:][:l.In.W] {
						sum += a * column[k]
					}
					y[r*l.Columns+c] = sum
				}
			}
		case layer.MatMul:
			z := v[n.Inputs[1]]
			for r := range l.In.C * l.In.H {
				right := z[r/l.In.H*l.In.W*l.Columns:][:l.In.W*l.Columns]
				for k, a := range x[r*l.In.W:][:l.In.W] {
					row, step := right[k*l.Columns:], 1
					if l.TransposeY {
						row, step = right[k:], l.In.W
					}
					for c := range l.Columns {
						y[r*l.Columns+c] += a * row[c*step]
					}
				}
			}
		case layer.Transpose:
			s := l.In
			if s.H > 1 {
				s = layer.Shape{N: s.C, C: s.H, H: 1, W: s.W}
			}
			for g := range s.N {
				for c := range s.C {
					for k := range s.W {
						y[(g*s.W+k)*s.C+c] = x[(g*s.C+c)*s.W+k]
					}
				}
			}
		case layer.Add, layer.Mul:
			for k := range y {
				z := 0.0
				if l.Second == layer.Scalar {
					z = float64(w.Second[0].Float32())
				} else {
					other := v[n.Inputs[1]]
					z = other[k%len(other)]
				}
				if y[k] = x[k] + z; l.Op == layer.Mul {
					y[k] = x[k] * z
				}
			}
		case layer.ReLU, layer.GELU, layer.Tanh, layer.Sigmoid, layer.SiLU:
			for k := range y {
				y[k] = map[layer.Op]func(float64) float64{
					layer.ReLU:    func(x float64) float64 { return max(x, 0) },
					layer.GELU:    func(x float64) float64 { return x / 2 * (1 + math.Erf(x/math.Sqrt2)) },
					layer.Tanh:    math.Tanh,
					layer.Sigmoid: func(x float64) float64 { return 1 / (1 + math.Exp(-x)) },
					layer.SiLU:    func(x float64) float64 { return x / (1 + math.Exp(-x)) },
				}[l.Op](x[k])
			}
		case layer.LayerNorm:
			rows(func(x, y []float64) {
				mean, spread := 0.0, 0.0
				for _, a := range x {
					mean += a / float64(len(x))
				}
				for _, a := range x {
					spread += (a - mean) * (a - mean) / float64(len(x))
				}
				for k, a := range x {
					y[k] = (a - mean) / math.Sqrt(spread+float64(l.Epsilon))
				}
			})
		case layer.Softmax:
			rows(func(x, y []float64) {
				top, sum := slices.Max(x), 0.0
				for k, a := range x {
					y[k] = math.Exp(a - top)
					sum += y[k]
				}
				for k := range y {
					y[k] /= sum
				}
			})
		default:
			b.t.Fatalf("no definition of %v", l.Op)
		}
		v[n.Output] = y
	}
	return v[b.Net.Outputs[0]]
}
