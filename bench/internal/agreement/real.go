package agreement

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"anesim/bench/internal/reference/tensor"
	"anesim/internal/network/onnx"
	"anesim/loader/network/list"
)

// plausibleInputs returns pseudo-random float32 inputs that resemble real data for the network n.
// An input with the shape of an image gets a picture of strokes, and one with the shape of audio
// gets a tone with overtones. Recurrent states get small values, and all other inputs get normally
// distributed noise. A scalar input named in sizes gets the size as its value. The same seed gives
// the same inputs.
//
// plausibleInputs returns an error if an input has no known shape or is not floating-point, unless
// it is such a scalar.
func plausibleInputs(n *list.Network, m *onnx.Model, sizes map[string]int, seed uint64) (map[string]*tensor.Tensor, error) {
	dims := map[string][]int{}
	for _, in := range n.Inputs {
		dims[in.Name] = in.Dims
	}
	inputs := map[string]*tensor.Tensor{}
	for i, in := range m.Inputs {
		if v, ok := sizes[in.Name]; ok && len(in.Dims) == 0 {
			inputs[in.Name] = &tensor.Tensor{Type: in.Type, Dims: []int{}, Data: []float64{float64(v)}}
			continue
		}
		if dims[in.Name] == nil {
			return nil, fmt.Errorf("input %q has no known shape", in.Name)
		}
		if !in.Type.IsFloat() {
			return nil, fmt.Errorf("cannot generate values of type %v for input %q; want a floating-point type, or a scalar with a given size", in.Type, in.Name)
		}
		t := &tensor.Tensor{Type: in.Type, Dims: dims[in.Name], Data: makePlausibleValues(in.Name, dims[in.Name], rand.New(rand.NewPCG(seed, uint64(i))))}
		for k, v := range t.Data {
			t.Data[k] = float64(float32(v))
		}
		inputs[in.Name] = t
	}
	return inputs, nil
}

// makePlausibleValues returns pseudo-random elements for an input. It guesses from the name and the
// shape whether the input is an image, audio, a small state or noise.
func makePlausibleValues(name string, dims []int, rng *rand.Rand) []float64 {
	elements := 1
	for _, d := range dims {
		elements *= d
	}
	rank := len(dims)
	switch {
	// Real networks amplify noise that no image has, and then every arithmetic differs. Images need both
	// axes to be large; smaller tensors are features.
	case rank == 4 && (dims[1] == 3 || dims[1] == 1) && dims[2] >= 16:
		picture := newPicture(dims[2], dims[3], rng)
		data := make([]float64, 0, elements)
		for range dims[0] {
			for c := range dims[1] {
				data = append(data, picture.channelWithNoise(c)...)
			}
		}
		return data
	case rank == 4 && (dims[3] == 3 || dims[3] == 1) && dims[1] >= 16:
		picture := newPicture(dims[1], dims[2], rng)
		data := make([]float64, elements)
		for c := range dims[3] {
			for i, v := range picture.channelWithNoise(c) {
				data[i*dims[3]+c] = v
			}
		}
		return data
	case rank == 2 && dims[1] >= 256:
		return synthesizeVoice(elements, rng)
	}
	amplitude := 1.0
	// States of recurrent networks start near zero.
	if strings.HasPrefix(name, "state") || name == "h" || name == "c" {
		amplitude = 0.1
	}
	data := make([]float64, elements)
	for i := range data {
		data[i] = amplitude * rng.NormFloat64()
	}
	return data
}

// A picture is an image of dark strokes in rows on a light, uneven ground. Its values are
// from -1 to 1.
type picture struct {
	height, width int
	light         []float64
	rng           *rand.Rand
}

func newPicture(height, width int, rng *rand.Rand) *picture {
	p := &picture{height, width, make([]float64, height*width), rng}
	phase := rng.Float64() * 6
	for i := range p.light {
		y, x := float64(i/width), float64(i%width)
		p.light[i] = 0.6 + 0.2*math.Sin(phase+3*x/float64(width)+2*y/float64(height))
	}
	const row, glyph = 40, 18
	for top := 8; top+24 <= height; top += row {
		for left := 8; left+glyph <= width; left += glyph {
			if rng.IntN(6) > 0 { // else a space
				p.drawStrokes(top, left)
			}
		}
	}
	return p
}

// drawStrokes draws three random strokes into a cell of 24 rows and 14 columns whose upper left
// corner is at (top, left).
func (p *picture) drawStrokes(top, left int) {
	for range 3 {
		y, x, height, width := p.rng.IntN(20), p.rng.IntN(11), 3, 14
		if p.rng.IntN(2) == 0 {
			height, width = 24, 3
		}
		for i := y; i < min(y+height, 24); i++ {
			for j := x; j < min(x+width, 14); j++ {
				p.light[(top+i)*p.width+left+j] = -0.8
			}
		}
	}
}

// channelWithNoise returns the elements of color channel c of the picture, with some noise added.
func (p *picture) channelWithNoise(c int) []float64 {
	data := make([]float64, len(p.light))
	for i, v := range p.light {
		data[i] = max(-1, min(1, v+0.05*float64(c)+0.03*p.rng.NormFloat64()))
	}
	return data
}

// synthesizeVoice returns n samples of audio at 16 kHz: a tone of 140 Hz with overtones, a varying
// volume and some noise.
func synthesizeVoice(n int, rng *rand.Rand) []float64 {
	data := make([]float64, n)
	for i := range data {
		t := float64(i) / 16000
		for k := 1.0; k <= 20; k++ {
			data[i] += math.Sin(2*math.Pi*140*k*t+k*k) / (k + 3)
		}
		data[i] = 0.2*data[i]*(0.6+0.4*math.Sin(2*math.Pi*5*t)) + 0.005*rng.NormFloat64()
	}
	return data
}

// A difference says how far computed elements are from the expected ones.
type difference struct {
	Max float64 // largest absolute difference, as a fraction of the largest expected magnitude
	RMS float64 // root mean square of the differences, as a fraction of that of the expected elements
}

// measureDifference compares got with want at the finite elements of want. If an element of got is
// infinite or NaN where want is finite, the difference is infinite.
func measureDifference(got, want []float64) difference {
	var most, largest, squares, all float64
	for i, w := range want {
		if w != w || math.IsInf(w, 0) {
			continue
		}
		d := math.Abs(got[i] - w)
		if d != d {
			d = math.Inf(1)
		}
		most, largest = max(most, d), max(largest, math.Abs(w))
		squares, all = squares+d*d, all+w*w
	}
	if most == 0 {
		return difference{}
	}
	return difference{most / largest, math.Sqrt(squares / all)}
}

// largerDifference returns a difference that combines the larger Max and the larger RMS of a and b.
func largerDifference(a, b difference) difference {
	return difference{max(a.Max, b.Max), max(a.RMS, b.RMS)}
}

// shareWithSameArgmax divides got and want into rows with the given number of columns. It returns
// the share of rows in which the largest elements of got and want are in the same column.
func shareWithSameArgmax(got, want []float64, columns int) float64 {
	same := 0
	for at := 0; at < len(want); at += columns {
		if argmax(got[at:at+columns]) == argmax(want[at:at+columns]) {
			same++
		}
	}
	return float64(same*columns) / float64(max(1, len(want)))
}

func argmax(row []float64) (at int) {
	for i, v := range row {
		if v > row[at] {
			at = i
		}
	}
	return at
}

// shareOnSameSide returns the share of elements that are above 0.5 in both got and want, or in
// neither.
func shareOnSameSide(got, want []float64) float64 {
	same := 0
	for i, w := range want {
		if (got[i] > 0.5) == (w > 0.5) {
			same++
		}
	}
	return float64(same) / float64(max(1, len(want)))
}
