package lower

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/x448/float16"
)

// run builds the network and computes its output.
func (b *chainNet) run(inMemory bool, in map[string][]float16.Float16) ([]float16.Float16, *Joined, uint64) {
	b.t.Helper()
	b.net.InMemory = inMemory
	j, err := b.net.Join()
	if err != nil {
		b.t.Fatal(err)
	}
	p, err := j.Builder.Build("net")
	if err != nil {
		b.t.Fatal(err)
	}
	out, moved, err := RunProgram(p, in)
	if err != nil {
		b.t.Fatalf("%d descriptors: %v", len(j.Builder.Chain), err)
	}
	return out, j, moved
}

// define computes the network in float64, every layer rounded to fp16.
func (b *chainNet) define(in map[string][]float16.Float16) []float64 {
	v := map[string][]float64{}
	read := func(h []float16.Float16) []float64 {
		f := make([]float64, len(h))
		for i := range h {
			f[i] = float64(h[i].Float32())
		}
		return f
	}
	for _, t := range b.net.Inputs {
		v[t.Name] = read(t.Values)
		if t.Values == nil {
			v[t.Name] = read(in[t.Name])
		}
	}
	for i := range b.net.Nodes {
		n := &b.net.Nodes[i]
		l, w := &n.Part.layer, &n.Part.weights
		x := v[n.Inputs[0]]
		out := n.Part.out
		y := make([]float64, out.Elements())
		rows := func(f func(x, y []float64)) {
			for at := 0; at < len(x); at += l.In.W {
				f(x[at:at+l.In.W], y[at:at+l.In.W])
			}
		}
		switch l.Op {
		case Linear:
			for r := range len(x) / l.In.W {
				for c := range l.Columns {
					sum := 0.0
					for k := range l.In.W {
						sum += x[r*l.In.W+k] * float64(w.Filter[c*l.In.W+k].Float32())
					}
					y[r*l.Columns+c] = sum
				}
			}
		case MatMul:
			z := v[n.Inputs[1]]
			for h := range l.In.C {
				for r := range l.In.H {
					for c := range l.Columns {
						sum := 0.0
						for k := range l.In.W {
							sum += x[(h*l.In.H+r)*l.In.W+k] * z[(h*l.In.W+k)*l.Columns+c]
						}
						y[(h*l.In.H+r)*l.Columns+c] = sum
					}
				}
			}
		case Transpose:
			s := l.In
			for g := range s.N {
				for c := range s.C {
					for k := range s.W {
						y[(g*s.W+k)*s.C+c] = x[(g*s.C+c)*s.W+k]
					}
				}
			}
		case Add, Mul:
			for k := range y {
				z := 0.0
				if l.Second == Scalar {
					z = float64(w.Second[0].Float32())
				} else {
					other := v[n.Inputs[1]]
					z = other[k%len(other)]
				}
				if y[k] = x[k] + z; l.Op == Mul {
					y[k] = x[k] * z
				}
			}
		case ReLU, GELU, Tanh, Sigmoid, SiLU:
			for k := range y {
				y[k] = map[Op]func(float64) float64{
					ReLU:    func(x float64) float64 { return max(x, 0) },
					GELU:    func(x float64) float64 { return x / 2 * (1 + math.Erf(x/math.Sqrt2)) },
					Tanh:    math.Tanh,
					Sigmoid: func(x float64) float64 { return 1 / (1 + math.Exp(-x)) },
					SiLU:    func(x float64) float64 { return x / (1 + math.Exp(-x)) },
				}[l.Op](x[k])
			}
		case LayerNorm:
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
		case Softmax:
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
	return v[b.net.Outputs[0]]
}

// check runs the network with its tensors in the L2 and in memory, bit by bit, and beside
// the definition.
func (b *chainNet) check(name string, tolerance float64) {
	b.t.Helper()
	in := map[string][]float16.Float16{}
	for _, t := range b.net.Inputs {
		if t.Values == nil {
			in[t.Name] = b.values(t.Shape.Elements(), 1)
		}
	}
	got, _, resident := b.run(false, in)
	apart, _, inMemory := b.run(true, in)
	if !slices.Equal(got, apart) {
		n := 0
		for i := range got {
			if got[i] != apart[i] {
				n++
			}
		}
		b.t.Errorf("%s: %d of %d values differ between tensors in the L2 and in memory", name, n, len(got))
	}
	if resident > inMemory {
		b.t.Errorf("%s: %d bytes move with tensors in the L2, %d without", name, resident, inMemory)
	}
	want := b.define(in)
	worst, scale := 0.0, 0.0
	for i := range want {
		worst = max(worst, math.Abs(float64(got[i].Float32())-want[i]))
		scale = max(scale, math.Abs(want[i]))
	}
	b.t.Logf("%s: worst %g of %g; %d bytes, %d in memory", name, worst, scale, resident, inMemory)
	if !(worst <= tolerance*max(scale, 1)) {
		b.t.Errorf("%s: off by %g of %g", name, worst, scale)
	}
}

// The chains of the compiler's families come out right, in the L2 and in memory alike.
func TestChainValues(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 4))
	for _, name := range []string{
		"ffn_d32_s8", "ffn_d64_s16", "ffn_d96_s64", "ffn_d64_s136_relu", "ffn_d64_s128_biasbcast", "ffn_d96_s24_biasfull",
		"lnproj_d64_s16", "lnproj_d64_s256", "attn_s32_dh48", "attn_s64_dh64_noscale", "attn_s128_dh32_h3", "attn_s256_dh32",
		"resffn_d64_s32", "resffn_d96_s64", "resattn_s32_d64", "block_d64_s32_proj0", "block_d64_s32_proj1", "block_d256_s16_proj1", "stack2_d64_s16_proj1",
		"mm_d64_relu", "mm_relu", "mm_gelu", "mm_bias", "mm_mul", "mm_add", "mm_mm", "mm_softmax", "gelu_mm", "ln_gelu",
		"branch_d96_s32", "serial_d96_s32", "res_gelu_d96", "res_relu_d96",
	} {
		b := newChain(t, r)
		if !b.chain(name) {
			continue
		}
		b.check(fmt.Sprint(name), 0.05)
	}
}
