package agreement

import (
	"math"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"anesim/bench/internal/reference/tensor"
	nt "anesim/internal/network/neuraltest"
	"anesim/internal/network/onnx"
	"anesim/loader/network"
)

// A plane holds a tensor of channels, rows and columns.
type plane struct {
	c, h, w int
	v       []float64
}

func newPlane(c, h, w int, f func(c, y, x int) float64) plane {
	p := plane{c, h, w, make([]float64, c*h*w)}
	for i := range p.v {
		p.v[i] = f(i/(h*w), i/w%h, i%w)
	}
	return p
}

// at returns an element, or outside if there is none.
func (p plane) at(c, y, x int, outside float64) float64 {
	if y < 0 || y >= p.h || x < 0 || x >= p.w {
		return outside
	}
	return p.v[(c*p.h+y)*p.w+x]
}

// someNumbers returns small numbers of both signs, which fp16 has exactly.
func someNumbers(n, seed int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = float64((i*37+seed*11)%23-11) / 8
	}
	return v
}

// convolve computes a convolution by its definition: weights of axes output channel, input channel of the group,
// row, column.
func convolve(in plane, w, bias []float64, out, kh, kw, groups int, stride, dilation [2]int, top, left, h, width int) plane {
	per := in.c / groups
	return newPlane(out, h, width, func(o, y, x int) float64 {
		sum := 0.0
		if bias != nil {
			sum = bias[o]
		}
		for i := range per {
			for r := range kh {
				for s := range kw {
					sum += w[((o*per+i)*kh+r)*kw+s] * in.at(o/(out/groups)*per+i, y*stride[0]-top+r*dilation[0], x*stride[1]-left+s*dilation[1], 0)
				}
			}
		}
		return sum
	})
}

// deconvolve computes a transposed convolution by its definition: each element of the input adds the
// weights to the result, of which the borders are cut off.
func deconvolve(in plane, w []float64, out, k, stride, cut, h, width int) plane {
	p := newPlane(out, h, width, func(int, int, int) float64 { return 0 })
	for i := range in.c {
		for y := range in.h {
			for x := range in.w {
				for o := range out {
					for r := range k {
						for s := range k {
							if v, u := y*stride+r-cut, x*stride+s-cut; v >= 0 && v < h && u >= 0 && u < width {
								p.v[(o*h+v)*width+u] += in.at(i, y, x, 0) * w[((i*out+o)*k+r)*k+s]
							}
						}
					}
				}
			}
		}
	}
	return p
}

// pool combines the elements of windows that lie in the plane.
func pool(in plane, k, stride, top, left, h, w int, combine func(v []float64, all int) float64) plane {
	return newPlane(in.c, h, w, func(c, y, x int) float64 {
		var v []float64
		for r := range k {
			for s := range k {
				if e := in.at(c, y*stride-top+r, x*stride-left+s, math.NaN()); e == e {
					v = append(v, e)
				}
			}
		}
		return combine(v, k*k)
	})
}

func mean(v []float64, _ int) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

// TestLayersOfCoreML compares layers of Core ML's older form with loops that follow the definition
// of each.
func TestLayersOfCoreML(t *testing.T) {
	x := newPlane(4, 6, 5, func(c, y, x int) float64 { return someNumbers(4*6*5, 3)[(c*6+y)*5+x] })
	each := func(f func(v float64) float64) plane {
		return newPlane(x.c, x.h, x.w, func(c, y, u int) float64 { return f(x.at(c, y, u, 0)) })
	}
	reduce := func(h, w int, f func(c, y, x int) float64) plane { return newPlane(x.c, h, w, f) }
	activation := func(num protowire.Number, params nt.Message) nt.Message { return nt.Message{}.Bytes(num, params) }
	w := someNumbers(6*2*3*3, 1)
	w4 := someNumbers(3*4*3*3, 5)
	bias := someNumbers(6, 2)
	one, two := [2]int{1, 1}, [2]int{2, 2}
	full := someNumbers(3*120, 4)
	softmax := func(c, y, u int) float64 {
		sum := 0.0
		for k := range x.c {
			sum += math.Exp(x.at(k, y, u, 0))
		}
		return math.Exp(x.at(c, y, u, 0)) / sum
	}
	moments := func(channels []int) (m, v float64) {
		var all []float64
		for _, c := range channels {
			all = append(all, x.v[c*x.h*x.w:(c+1)*x.h*x.w]...)
		}
		m = mean(all, 0)
		for _, e := range all {
			v += (e - m) * (e - m) / float64(len(all))
		}
		return m, v
	}
	squares := 0.0
	for _, v := range x.v {
		squares += v * v
	}
	for _, tc := range []struct {
		name   string
		kind   protowire.Number
		params nt.Message
		want   plane
		within float64
	}{
		{"convolution of two groups, padded and strided", 100, nt.Join(nt.Message{}.Int(1, 6).Int(2, 2).Int(10, 2), nt.Packed(20, 3, 3), nt.Packed(30, 2, 2),
			nt.Message{}.Bytes(50, nt.Message{}.Bytes(1, nt.Borders(1, 0, 2, 1))).Int(70, 1), nt.Weights(90, w...), nt.Weights(91, bias...)),
			convolve(x, w, bias, 6, 3, 3, 2, two, one, 1, 2, 3, 3), 0},
		{"convolution with the padding same, more at the end", 100, nt.Join(nt.Message{}.Int(1, 6).Int(2, 2).Int(10, 2), nt.Packed(20, 3, 3), nt.Packed(30, 2, 2),
			nt.Message{}.Bytes(51, nil), nt.Weights(90, w...)),
			convolve(x, w, nil, 6, 3, 3, 2, two, one, 0, 1, 3, 3), 0},
		{"convolution with the padding same, more at the start", 100, nt.Join(nt.Message{}.Int(1, 6).Int(2, 2).Int(10, 2), nt.Packed(20, 3, 3), nt.Packed(30, 2, 2),
			nt.Message{}.Bytes(51, nt.Message{}.Int(1, 1)), nt.Weights(90, w...)),
			convolve(x, w, nil, 6, 3, 3, 2, two, one, 1, 1, 3, 3), 0},
		{"convolution with all defaults, dilated", 100, nt.Join(nt.Message{}.Int(1, 3).Int(2, 4), nt.Packed(40, 2, 2), nt.Message{}.Bytes(50, nil), nt.Weights(90, w4...)),
			convolve(x, w4, nil, 3, 3, 3, 1, one, two, 0, 0, 2, 1), 0},
		{"deconvolution", 100, nt.Join(nt.Message{}.Int(1, 3).Int(2, 4).Int(60, 1), nt.Packed(20, 3, 3), nt.Packed(30, 2, 2),
			nt.Message{}.Bytes(50, nt.Message{}.Bytes(1, nt.Borders(1, 1, 1, 1))), nt.Weights(90, w4...)),
			deconvolve(x, w4, 3, 3, 2, 1, 11, 9), 0},
		{"deconvolution with the padding same", 100, nt.Join(nt.Message{}.Int(1, 3).Int(2, 4).Int(60, 1), nt.Packed(20, 3, 3), nt.Packed(30, 2, 2),
			nt.Message{}.Bytes(51, nil), nt.Weights(90, w4...)), deconvolve(x, w4, 3, 3, 2, 0, 12, 10), 0},
		{"max pool", 120, nt.Join(nt.Packed(10, 2, 2), nt.Packed(20, 2, 2), nt.Message{}.Bytes(30, nil)),
			pool(x, 2, 2, 0, 0, 3, 2, func(v []float64, _ int) float64 { return slices.Max(v) }), 0},
		{"max pool to the last pixel", 120, nt.Join(nt.Packed(10, 3, 3), nt.Packed(20, 2, 2), nt.Message{}.Bytes(32, nt.Packed(10, 0, 0))),
			pool(x, 3, 2, 0, 0, 3, 2, func(v []float64, _ int) float64 { return slices.Max(v) }), 0},
		{"max pool to the last pixel, padded", 120, nt.Join(nt.Packed(10, 2, 2), nt.Packed(20, 2, 2), nt.Message{}.Bytes(32, nt.Packed(10, 1, 1))),
			pool(x, 2, 2, 1, 1, 4, 3, func(v []float64, _ int) float64 { return slices.Max(v) }), 0},
		{"average pool, padding counted", 120, nt.Join(nt.Message{}.Int(1, 1), nt.Packed(10, 3, 3), nt.Message{}.Bytes(30, nt.Message{}.Bytes(1, nt.Borders(1, 1, 1, 1)))),
			pool(x, 3, 1, 1, 1, 6, 5, func(v []float64, all int) float64 { return mean(v, 0) * float64(len(v)) / float64(all) }), 0.002},
		{"average pool, padding not counted", 120, nt.Join(nt.Message{}.Int(1, 1), nt.Packed(10, 3, 3), nt.Message{}.Bytes(31, nil), nt.Message{}.Int(50, 1)),
			pool(x, 3, 1, 1, 1, 6, 5, mean), 0.002},
		{"global average pool", 120, nt.Message{}.Int(1, 1).Int(60, 1).Bytes(30, nil), reduce(1, 1, func(c, _, _ int) float64 { m, _ := moments([]int{c}); return m }), 0.002},
		{"inner product of planes", 140, nt.Join(nt.Message{}.Int(1, 120).Int(2, 3).Int(10, 1), nt.Weights(20, full...), nt.Weights(21, bias[:3]...)),
			convolve(x, full, bias, 3, 6, 5, 1, one, one, 0, 0, 1, 1), 0.02},
		{"batchnorm", 160, nt.Join(nt.Message{}.Int(1, 4), nt.Weights(15, 1, 2, 0.5, -1), nt.Weights(16, 0, 1, 2, 3), nt.Weights(17, 0.5, 0, -0.5, 1), nt.Weights(18, 1, 4, 0.25, 1)),
			newPlane(4, 6, 5, func(c, y, u int) float64 {
				g, b, m, v := []float64{1, 2, 0.5, -1}[c], []float64{0, 1, 2, 3}[c], []float64{0.5, 0, -0.5, 1}[c], []float64{1, 4, 0.25, 1}[c]
				return (x.at(c, y, u, 0)-m)/math.Sqrt(v+1e-5)*g + b
			}), 0.01},
		{"instance norm", 160, nt.Join(nt.Message{}.Int(1, 4).Int(5, 1).Int(6, 1), nt.Weights(15, 1, 2, 0.5, -1), nt.Weights(16, 0, 1, 2, 3)),
			newPlane(4, 6, 5, func(c, y, u int) float64 {
				m, v := moments([]int{c})
				return (x.at(c, y, u, 0)-m)/math.Sqrt(v+1e-5)*[]float64{1, 2, 0.5, -1}[c] + []float64{0, 1, 2, 3}[c]
			}), 0.03},
		{"mean and variance of all channels", 165, nt.Message{}.Int(1, 1).Int(2, 1).Float(3, 1e-5), newPlane(4, 6, 5, func(c, y, u int) float64 {
			m, v := moments([]int{0, 1, 2, 3})
			return (x.at(c, y, u, 0) - m) / math.Sqrt(v+1e-5)
		}), 0.02},
		{"mean of each channel", 165, nil, newPlane(4, 6, 5, func(c, y, u int) float64 { m, _ := moments([]int{c}); return x.at(c, y, u, 0) - m }), 0.005},
		{"l2normalize", 170, nt.Message{}.Float(1, 1e-6), each(func(v float64) float64 { return v / math.Sqrt(squares+1e-6) }), 0.005},
		{"softmax of channels", 175, nil, newPlane(4, 6, 5, softmax), 0.01},
		{"lrn", 180, nt.Message{}.Float(1, 0.5).Float(2, 0.75).Int(3, 3).Float(4, 2), newPlane(4, 6, 5, func(c, y, u int) float64 {
			s := 0.0
			for k := max(0, c-1); k <= min(3, c+1); k++ {
				s += x.at(k, y, u, 0) * x.at(k, y, u, 0)
			}
			return x.at(c, y, u, 0) / math.Pow(2+0.5/3*s, 0.75)
		}), 0.01},
		{"crop", 190, nt.Message{}.Bytes(1, nt.Borders(1, 2, 0, 1)), newPlane(4, 3, 4, func(c, y, u int) float64 { return x.at(c, y+1, u, 0) }), 0},
		{"constant padding", 200, nt.Message{}.Bytes(1, nt.Message{}.Float(1, 0.5)).Bytes(10, nt.Borders(1, 0, 2, 1)),
			newPlane(4, 7, 8, func(c, y, u int) float64 { return x.at(c, y-1, u-2, 0.5) }), 0},
		{"replication", 200, nt.Message{}.Bytes(3, nil).Bytes(10, nt.Borders(1, 2, 2, 1)),
			newPlane(4, 9, 8, func(c, y, u int) float64 { return x.at(c, min(5, max(0, y-1)), min(4, max(0, u-2)), 0) }), 0},
		{"reflection", 200, nt.Message{}.Bytes(2, nil).Bytes(10, nt.Borders(1, 1, 1, 1)), newPlane(4, 8, 7, func(c, y, u int) float64 {
			r, s := y-1, u-1
			if r < 0 {
				r = -r
			}
			if s < 0 {
				s = -s
			}
			return x.at(c, min(r, 10-r), min(s, 8-s), 0)
		}), 0},
		{"upsample by copies", 210, nt.Packed(1, 2, 3), newPlane(4, 12, 15, func(c, y, u int) float64 { return x.at(c, y/2, u/3, 0) }), 0},
		{"upsample by interpolation", 210, append(nt.Packed(1, 2, 2), nt.Message{}.Int(5, 1)...), newPlane(4, 12, 10, func(c, y, u int) float64 {
			r, s := min(5, (y+1)/2), min(4, (u+1)/2)
			return (x.at(c, y/2, u/2, 0) + x.at(c, y/2, s, 0) + x.at(c, r, u/2, 0) + x.at(c, r, s, 0)) / 4
		}), 0.005},
		{"unary square root of 2x+4", 220, nt.Message{}.Float(4, 4).Float(5, 2), each(func(v float64) float64 { return math.Sqrt(2*v + 4) }), 0.01},
		{"unary inverse of x+3", 220, nt.Message{}.Int(1, 2).Float(3, 1e-6).Float(4, 3).Float(5, 1), each(func(v float64) float64 { return 1 / (v + 3) }), 0.01},
		{"unary power", 220, nt.Message{}.Int(1, 3).Float(2, 2).Float(5, 1), each(func(v float64) float64 { return v * v }), 0.01},
		{"unary exponential", 220, nt.Message{}.Int(1, 4).Float(5, 1), each(math.Exp), 0.02},
		{"unary absolute value", 220, nt.Message{}.Int(1, 6).Float(5, 1), each(math.Abs), 0},
		{"unary threshold", 220, nt.Message{}.Int(1, 7).Float(2, 0.25).Float(5, 1), each(func(v float64) float64 { return max(0.25, v) }), 0},
		{"add a number", 230, nt.Message{}.Float(1, 0.5), each(func(v float64) float64 { return v + 0.5 }), 0},
		{"multiply by a number", 231, nt.Message{}.Float(1, -2), each(func(v float64) float64 { return v * -2 }), 0},
		{"scale and bias of channels", 245, nt.Join(nt.Packed(1, 4), nt.Weights(2, 1, 2, -1, 0.5), nt.Message{}.Int(3, 1), nt.Packed(4, 4, 1, 1), nt.Weights(5, 1, 0, 2, 3)),
			newPlane(4, 6, 5, func(c, y, u int) float64 {
				return x.at(c, y, u, 0)*[]float64{1, 2, -1, 0.5}[c] + []float64{1, 0, 2, 3}[c]
			}), 0},
		{"bias of rows and columns", 250, nt.Join(nt.Packed(1, 1, 6, 5), nt.Weights(2, someNumbers(30, 9)...)),
			newPlane(4, 6, 5, func(c, y, u int) float64 { return x.at(c, y, u, 0) + someNumbers(30, 9)[y*5+u] }), 0},
		{"reduce: sum of rows and columns", 280, nt.Message{}.Int(3, 1), reduce(1, 1, func(c, _, _ int) float64 { m, _ := moments([]int{c}); return 30 * m }), 0.02},
		{"reduce: maximum of channels", 280, nt.Message{}.Int(1, 7).Int(3, 2), newPlane(1, 6, 5, func(_, y, u int) float64 {
			return max(x.at(0, y, u, 0), x.at(1, y, u, 0), x.at(2, y, u, 0), x.at(3, y, u, 0))
		}), 0},
		{"reduce: average of columns", 280, nt.Message{}.Int(1, 1).Int(3, 4), newPlane(4, 6, 1, func(c, y, _ int) float64 { return mean(x.v[(c*6+y)*5:(c*6+y+1)*5], 0) }), 0.005},
		{"reshape", 300, nt.Packed(1, 2, 10, 6), plane{2, 10, 6, x.v}, 0},
		{"flatten", 301, nil, plane{120, 1, 1, x.v}, 0},
		{"flatten, channels last", 301, nt.Message{}.Int(1, 1), newPlane(120, 1, 1, func(k, _, _ int) float64 { return x.at(k%4, k/20, k/4%5, 0) }), 0},
		{"permute to rows, columns, channels", 310, nt.Packed(1, 0, 2, 3, 1), newPlane(6, 5, 4, func(c, y, u int) float64 { return x.at(u, c, y, 0) }), 0},
		{"space to depth", 345, nt.Message{}.Int(2, 1), x, 0},
		{"pixel shuffle", 345, nt.Message{}.Int(1, 2).Int(2, 2), newPlane(1, 12, 10, func(_, y, u int) float64 { return x.at(y%2*2+u%2, y/2, u/2, 0) }), 0},
		{"slice of rows", 350, nt.Message{}.Int(1, 1).Int(2, 6).Int(3, 2).Int(4, 1), newPlane(4, 3, 5, func(c, y, u int) float64 { return x.at(c, 1+2*y, u, 0) }), 0},

		{"linear", 130, activation(5, nt.Message{}.Float(1, 2).Float(2, 0.5)), each(func(v float64) float64 { return 2*v + 0.5 }), 0},
		{"relu", 130, activation(10, nil), each(func(v float64) float64 { return max(0, v) }), 0},
		{"leaky relu", 130, activation(15, nt.Message{}.Float(1, 0.25)), each(func(v float64) float64 { return max(v, 0.25*v) }), 0.001},
		{"thresholded relu keeps the threshold", 130, activation(20, nt.Message{}.Float(1, 0.5)), each(func(v float64) float64 {
			if v >= 0.5 {
				return v
			}
			return 0
		}), 0},
		{"prelu of channels", 130, activation(25, nt.Weights(1, 0.5, 0.25, 2, 1)), newPlane(4, 6, 5, func(c, y, u int) float64 {
			if v := x.at(c, y, u, 0); v < 0 {
				return v * []float64{0.5, 0.25, 2, 1}[c]
			}
			return x.at(c, y, u, 0)
		}), 0},
		{"prelu of one number", 130, activation(25, nt.Weights(1, 0.5)), each(func(v float64) float64 { return max(v, v/2) }), 0},
		{"scaled tanh", 130, activation(31, nt.Message{}.Float(1, 2).Float(2, 0.5)), each(func(v float64) float64 { return 2 * math.Tanh(v/2) }), 0.01},
		{"sigmoid", 130, activation(40, nil), each(func(v float64) float64 { return 1 / (1 + math.Exp(-v)) }), 0.005},
		{"hard sigmoid", 130, activation(41, nt.Message{}.Float(1, 0.5).Float(2, 0.25)), each(func(v float64) float64 { return max(0, min(1, v/2+0.25)) }), 0.001},
		{"elu", 130, activation(50, nt.Message{}.Float(1, 0.5)), each(func(v float64) float64 {
			if v < 0 {
				return 0.5 * math.Expm1(v)
			}
			return v
		}), 0.01},
		{"softsign", 130, activation(60, nil), each(func(v float64) float64 { return v / (1 + math.Abs(v)) }), 0.02},
		{"softplus", 130, activation(70, nil), each(func(v float64) float64 { return math.Log1p(math.Exp(v)) }), 0.01},
		{"parametric softplus", 130, activation(71, nt.Join(nt.Weights(1, 1, 2, 0.5, 1), nt.Weights(2, 1, 1, 2, 0.5))), newPlane(4, 6, 5, func(c, y, u int) float64 {
			return []float64{1, 2, 0.5, 1}[c] * math.Log1p(math.Exp([]float64{1, 1, 2, 0.5}[c]*x.at(c, y, u, 0)))
		}), 0.02},

		{"gelu", 795, nil, each(func(v float64) float64 { return v / 2 * (1 + math.Erf(v/math.Sqrt2)) }), 0.01},
		{"clip", 660, nt.Message{}.Float(1, -0.5).Float(2, 0.75), each(func(v float64) float64 { return max(-0.5, min(0.75, v)) }), 0},
		{"greater than a number", 830, nt.Message{}.Float(2, 0.25), each(func(v float64) float64 {
			if v > 0.25 {
				return 1
			}
			return 0
		}), 0},
		{"clamped relu", 1460, nt.Message{}.Float(1, -2).Float(2, 1), each(func(v float64) float64 {
			if v < 0 {
				v *= -2
			}
			return min(1, v)
		}), 0},
		{"exp2", 700, nil, each(math.Exp2), 0.01},
		{"transpose of five axes", 985, nt.Packed(1, 0, 1, 3, 4, 2), newPlane(6, 5, 4, func(c, y, u int) float64 { return x.at(u, c, y, 0) }), 0},
		{"reduceMax of an axis counted from the end", 1260, append(nt.Packed(1, -3), nt.Message{}.Int(2, 1)...), newPlane(1, 6, 5, func(_, y, u int) float64 {
			return max(x.at(0, y, u, 0), x.at(1, y, u, 0), x.at(2, y, u, 0), x.at(3, y, u, 0))
		}), 0},
		{"slice with steps, masks and a dropped axis", 995, nt.Join(nt.Packed(1, 0, 0, 1, 5, 0), nt.Packed(2, 0, 0, 0, 0, 1), nt.Packed(3, 1, 1, 2, 0, 0), nt.Packed(4, 0, 0, 0, 0, 1), nt.Packed(5, 1, 1, 1, -2, 1), nt.Packed(6, 0, 0, 1, 0, 0)),
			newPlane(1, 3, 5, func(_, y, u int) float64 { return x.at(1, 5-2*y, u, 0) }), 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			data := nt.Model(append(nt.Input("x", 4, 6, 5), nt.Output("y", tc.want.c, tc.want.h, tc.want.w)...), false,
				nt.Layer("l", tc.kind, tc.params, []string{"x"}, []string{"y"}))
			compareLayers(t, data, map[string][]float64{"x": x.v}, map[string][]float64{"y": tc.want.v}, tc.within+0.004)
		})
	}
}

// compareLayers runs a model of layers and compares its results. within is a share of results above 1.
func compareLayers(t *testing.T, data []byte, in, want map[string][]float64, within float64) {
	t.Helper()
	n, err := network.ReadCoreML(data, network.Options{})
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]*tensor.Tensor{}
	for _, x := range n.Inputs {
		values[x.Name] = &tensor.Tensor{Type: onnx.Float, Dims: x.Dims, Data: in[x.Name]}
	}
	for i := range n.Layers {
		if l := &n.Layers[i]; l.Reason != "" && l.Host == nil {
			t.Errorf("layer %s is not computed: %s", l.Name, l.Reason)
		}
	}
	results, _, err := runNetwork(n, values)
	if err != nil {
		t.Fatal(err)
	}
	for name, w := range want {
		got := results[name]
		if got == nil || len(got.Data) != len(w) {
			t.Fatalf("result %s is %+v; want %d elements; notes %s", name, got, len(w), strings.Join(n.Notes, "; "))
		}
		for i := range w {
			if !(math.Abs(got.Data[i]-w[i]) <= within*max(1, math.Abs(w[i]))) {
				t.Errorf("%s: element %d is %g; want %g", name, i, got.Data[i], w[i])
				break
			}
		}
	}
}

// TestModelsOfLayers compares networks of several layers, whose tensors have other axes than those of
// a single plane, and the forms in which weights and images are stored.
func TestModelsOfLayers(t *testing.T) {
	names := func(list ...string) []string { return list }
	x := someNumbers(2*3*4, 1)
	linear := func(rows, in int, x, w, bias []float64) []float64 {
		out := len(w) / in
		y := make([]float64, rows*out)
		for i := range y {
			if y[i] = 0; bias != nil {
				y[i] = bias[i%out]
			}
			for k := range in {
				y[i] += x[i/out*in+k] * w[i%out*in+k]
			}
		}
		return y
	}
	sigmoid := func(v float64) float64 { return 1 / (1 + math.Exp(-v)) }
	w := someNumbers(5*4, 2)

	t.Run("arrays with the axes that are declared", func(t *testing.T) {
		// y = softmax(x W + b) along the last axis, transposed; z = x + its mean along axis 1
		want := make([]float64, 2*5*3)
		for i, v := range linear(6, 4, x, w, []float64{1, 0, 0.5, 0, -1}) {
			row, sum := linear(6, 4, x, w, []float64{1, 0, 0.5, 0, -1})[i/5*5:i/5*5+5], 0.0
			for _, e := range row {
				sum += math.Exp(e)
			}
			want[(i/15*5+i%5)*3+i/5%3] = math.Exp(v) / sum
		}
		z := slices.Clone(x)
		for i := range z {
			z[i] += (x[i/12*12+i%4] + x[i/12*12+4+i%4] + x[i/12*12+8+i%4]) / 3
		}
		data := nt.Model(nt.Join(nt.Input("x", 2, 3, 4), nt.Output("y", 2, 5, 3), nt.Output("z", 2, 3, 4)), true,
			nt.Layer("fc", 140, nt.Join(nt.Message{}.Int(1, 4).Int(2, 5).Int(10, 1), nt.Weights(20, w...), nt.Weights(21, 1, 0, 0.5, 0, -1)), names("x"), names("a")),
			nt.Layer("sm", 950, nt.Message{}.Int(1, -1), names("a"), names("b")),
			nt.Layer("tr", 985, nt.Packed(1, 0, 2, 1), names("b"), names("y")),
			nt.Layer("mean", 1280, append(nt.Packed(1, 1), nt.Message{}.Int(2, 1)...), names("x"), names("m")),
			nt.Layer("sum", 880, nil, names("x", "m"), names("z")))
		compareLayers(t, data, map[string][]float64{"x": x}, map[string][]float64{"y": want, "z": z}, 0.01)
	})

	t.Run("branches, a split and a concatenation of channels", func(t *testing.T) {
		// y = concat(b, max(a, c)), where a and b are the halves of x, and c is a constant of a channel
		half := 6
		want := slices.Clone(x[half:12])
		for i, v := range x[:half] {
			want = append(want, max(v, []float64{0.25, -0.25}[i/3]))
		}
		data := nt.Model(nt.Join(nt.Input("x", 4, 1, 3), nt.Output("y", 4, 1, 3)), false,
			nt.Layer("split", 330, nt.Message{}.Int(1, 2), names("x"), names("a", "b")),
			nt.Layer("constant", 290, nt.Join(nt.Packed(1, 2, 1, 1), nt.Weights(2, 0.25, -0.25)), nil, names("c")),
			nt.Layer("max", 260, nil, names("a", "c"), names("d")),
			nt.Layer("concat", 320, nil, names("b", "d"), names("y")))
		compareLayers(t, data, map[string][]float64{"x": x[:12]}, map[string][]float64{"y": want}, 0.001)
	})

	t.Run("a small classifier", func(t *testing.T) {
		// convolution, batchnorm, ReLU, max pool, flatten, inner product and softmax
		in := plane{1, 9, 8, someNumbers(72, 7)}
		w1, b1, w2 := someNumbers(3*9, 1), someNumbers(3, 2), someNumbers(5*3*4*4, 3)
		scale, shift := []float64{1, 0.5, 2}, []float64{0, 0.25, -0.25}
		a := convolve(in, w1, b1, 3, 3, 3, 1, [2]int{1, 1}, [2]int{1, 1}, 1, 1, 9, 8)
		a = newPlane(3, 9, 8, func(c, y, u int) float64 {
			return max(0, (a.at(c, y, u, 0)-0.5)/math.Sqrt(1+1e-5)*scale[c]+shift[c])
		})
		a = pool(a, 2, 2, 0, 0, 4, 4, func(v []float64, _ int) float64 { return slices.Max(v) })
		want, sum := linear(1, 48, a.v, w2, nil), 0.0
		for i, v := range want {
			want[i] = math.Exp(v / 16)
			sum += want[i]
		}
		for i := range want {
			want[i] /= sum
		}
		data := nt.Model(nt.Join(nt.Input("x", 1, 9, 8), nt.Output("y", 5)), false,
			nt.Layer("conv", 100, nt.Join(nt.Message{}.Int(1, 3).Int(2, 1), nt.Packed(20, 3, 3), nt.Message{}.Bytes(51, nil).Int(70, 1), nt.Weights(90, w1...), nt.Weights(91, b1...)), names("x"), names("c")),
			nt.Layer("norm", 160, nt.Join(nt.Message{}.Int(1, 3), nt.Weights(15, scale...), nt.Weights(16, shift...), nt.Weights(17, 0.5, 0.5, 0.5), nt.Weights(18, 1, 1, 1)), names("c"), names("n")),
			nt.Layer("relu", 130, nt.Message{}.Bytes(10, nil), names("n"), names("r")),
			nt.Layer("pool", 120, nt.Join(nt.Packed(10, 2, 2), nt.Packed(20, 2, 2), nt.Message{}.Bytes(30, nil)), names("r"), names("p")),
			nt.Layer("flatten", 301, nil, names("p"), names("f")),
			nt.Layer("fc", 140, nt.Join(nt.Message{}.Int(1, 48).Int(2, 5), nt.Weights(20, w2...)), names("f"), names("o")),
			nt.Layer("scale", 231, nt.Message{}.Float(1, 1.0/16), names("o"), names("s")),
			nt.Layer("softmax", 175, nil, names("s"), names("y")))
		compareLayers(t, data, map[string][]float64{"x": in.v}, map[string][]float64{"y": want}, 0.02)
		if slices.Max(want)-slices.Min(want) < 0.1 {
			t.Errorf("the classes are too alike to tell: %v", want)
		}
	})

	t.Run("a batch of two planes", func(t *testing.T) {
		weights := someNumbers(2*1*1*2, 3)
		var want []float64
		for n := range 2 {
			in := plane{1, 3, 4, x[12*n : 12*n+12]}
			want = append(want, convolve(in, weights, nil, 2, 1, 2, 1, [2]int{1, 1}, [2]int{1, 1}, 0, 0, 3, 3).v...)
		}
		data := nt.Model(nt.Join(nt.Input("x", 2, 1, 3, 4), nt.Output("y", 2, 2, 3, 3)), true,
			nt.Layer("conv", 100, nt.Join(nt.Message{}.Int(1, 2).Int(2, 1), nt.Packed(20, 1, 2), nt.Message{}.Bytes(50, nil), nt.Weights(90, weights...)), names("x"), names("y")))
		compareLayers(t, data, map[string][]float64{"x": x}, map[string][]float64{"y": want}, 0.001)
	})

	t.Run("an image, scaled and shifted", func(t *testing.T) {
		pixels := make([]float64, 3*2*2)
		want := make([]float64, len(pixels))
		for i := range pixels {
			pixels[i] = float64(i * 20)
			want[i] = max(0, pixels[i]/64+[]float64{-1, -2, -0.5}[i/4]) // red, green, blue
		}
		scaler := nt.Message{}.Bytes(2, nt.Message{}.Text(1, "photo").Bytes(10, nt.Message{}.Float(10, 1.0/64).Float(20, -0.5).Float(21, -2).Float(22, -1)))
		for _, exact := range []bool{false, true} {
			data := nt.Model(nt.Join(nt.Image("photo", 2, 2, 20), nt.Output("y", 3, 2, 2)), exact, scaler,
				nt.Layer("relu", 130, nt.Message{}.Bytes(10, nil), names("photo"), names("y")))
			compareLayers(t, data, map[string][]float64{"photo": pixels}, map[string][]float64{"y": want}, 0.005)
		}
	})

	t.Run("forms of weights", func(t *testing.T) {
		// 5x4 weights on a grid of 4 bits, in every form that can hold them
		codes := make([]int, 20)
		grid := make([]float64, 20)
		perRow := make([]float64, 20)
		var nibbles []byte
		var bytes, halves []byte
		for i := range codes {
			codes[i] = i * 7 % 16
			grid[i] = float64(codes[i])/4 - 2
			perRow[i] = float64(codes[i])*float64(i/4+1)/16 - 0.5
			if i%2 == 0 {
				nibbles = append(nibbles, byte(codes[i]<<4))
			} else {
				nibbles[i/2] |= byte(codes[i])
			}
			bytes = append(bytes, byte(codes[i]))
			h := toFloat16([]float64{grid[i]})[0].Bits()
			halves = append(halves, byte(h), byte(h>>8))
		}
		table := make([]float64, 16)
		for q := range table {
			table[q] = float64(q)/4 - 2
		}
		list := func(num protowire.Number, v ...float64) nt.Message { // as floats of a message
			m := nt.Message{}
			for _, f := range v {
				m = m.Float(num, float32(f))
			}
			return m
		}
		quantized := func(bits int, raw []byte, kind protowire.Number, q nt.Message) nt.Message {
			return nt.Message{}.Bytes(20, nt.Message{}.Bytes(30, raw).Bytes(40, nt.Message{}.Int(1, bits).Bytes(kind, q)))
		}
		for _, tc := range []struct {
			name   string
			params nt.Message
			want   []float64
		}{
			{"float32, one by one", nt.Message{}.Bytes(20, list(1, grid...)), grid},
			{"float16", nt.Message{}.Bytes(20, nt.Message{}.Bytes(2, halves)), grid},
			{"4 bits with a scale", quantized(4, nibbles, 101, nt.Join(list(1, 0.25), list(2, -2))), grid},
			{"8 bits with a scale", quantized(8, bytes, 101, nt.Join(list(1, 0.25), list(2, -2))), grid},
			{"8 bits with a scale for each row", quantized(8, bytes, 101, nt.Join(list(1, 1./16, 2./16, 3./16, 4./16, 5./16), list(2, -0.5, -0.5, -0.5, -0.5, -0.5))), perRow},
			{"4 bits with a table", quantized(4, nibbles, 102, list(1, table...)), grid},
		} {
			data := nt.Model(nt.Join(nt.Input("x", 4), nt.Output("y", 5)), false,
				nt.Layer("fc", 140, append(nt.Message{}.Int(1, 4).Int(2, 5), tc.params...), names("x"), names("y")))
			t.Run(tc.name, func(t *testing.T) {
				compareLayers(t, data, map[string][]float64{"x": x[:4]}, map[string][]float64{"y": linear(1, 4, x[:4], tc.want, nil)}, 0.005)
			})
		}
	})

	t.Run("a sequence through an LSTM", func(t *testing.T) {
		// h and c by the definition, with the gates input, forget, block and output
		const in, out, steps = 3, 2, 4
		gate := func(seed int) (w, r, b []float64) {
			return someNumbers(out*in, seed), someNumbers(out*out, seed+1), someNumbers(out, seed+2)
		}
		weights := nt.Message{}
		var ws, rs, bs [4][]float64
		for g := range 4 {
			ws[g], rs[g], bs[g] = gate(3 * g)
			weights = nt.Join(weights, nt.Weights(protowire.Number(1+g), ws[g]...), nt.Weights(protowire.Number(20+g), rs[g]...), nt.Weights(protowire.Number(40+g), bs[g]...))
		}
		xs := someNumbers(steps*in, 8)
		h, c := make([]float64, out), make([]float64, out)
		var want []float64
		for s := range steps {
			var z [4][]float64
			for g := range 4 {
				z[g] = linear(1, in, xs[s*in:s*in+in], ws[g], bs[g])
				for i, v := range linear(1, out, h, rs[g], nil) {
					z[g][i] += v
				}
			}
			for i := range out {
				c[i] = sigmoid(z[1][i])*c[i] + sigmoid(z[0][i])*math.Tanh(z[2][i])
			}
			next := make([]float64, out)
			for i := range out {
				next[i] = sigmoid(z[3][i]) * math.Tanh(c[i])
			}
			h = next
			want = append(want, h...)
		}
		act := func(num protowire.Number) nt.Message { return nt.Message{}.Bytes(10, nt.Message{}.Bytes(num, nil)) }
		for _, sequence := range []int{0, 1} {
			rows := 1 + sequence*(steps-1)
			params := nt.Join(nt.Message{}.Int(1, in).Int(2, out), act(40), act(30), act(30),
				nt.Message{}.Bytes(15, nt.Message{}.Int(10, sequence).Int(20, 1)).Bytes(20, weights))
			data := nt.Model(nt.Join(nt.Input("x", steps, 1, in, 1, 1), nt.Output("y", rows, 1, out, 1, 1)), false,
				nt.Layer("lstm", 420, params, names("x"), names("y")))
			compareLayers(t, data, map[string][]float64{"x": xs}, map[string][]float64{"y": want[(steps-rows)*out:]}, 0.02)
		}
	})

	t.Run("words as vectors", func(t *testing.T) {
		table := someNumbers(6*4, 6) // 4 elements for each of 6 words, transposed
		var want []float64
		for _, i := range []int{5, 0, 2} {
			for k := range 4 {
				want = append(want, table[k*6+i])
			}
		}
		data := nt.Model(nt.Join(nt.Input("x", 1, 3, 1), nt.Output("y", 1, 3, 4)), true,
			nt.Layer("table", 1040, nt.Join(nt.Message{}.Int(1, 6).Int(2, 4), nt.Weights(20, table...)), names("x"), names("y")))
		compareLayers(t, data, map[string][]float64{"x": {5, 0, 2}}, map[string][]float64{"y": want}, 0.001)
	})
}
