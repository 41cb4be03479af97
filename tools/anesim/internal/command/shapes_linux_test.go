package command

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	ox "anesim/internal/network/onnxtest"
)

// A drawing is a network of layers with one or two inputs, as YAML.
type drawing struct {
	r        *rand.Rand
	text     strings.Builder
	layers   int
	matrices bool // a square matrix in each tensor
}

// newDrawing returns a network without layers, with an input x of a random shape of up to 64 kB. It is
// a square matrix if matrices is true.
func newDrawing(r *rand.Rand, matrices bool) *drawing {
	d := &drawing{r: r, matrices: matrices}
	side, channels := 1+r.IntN(16), 1+r.IntN(128)
	if matrices {
		side, channels = 8<<r.IntN(4), 1
	}
	fmt.Fprintf(&d.text, "inputs: {x: {c: %d, h: %d, w: %[2]d}}\nlayers:\n", channels, side)
	return d
}

// add adds a layer that reads one tensor, or two different ones, and returns the name of its
// result.
func (d *drawing) add(from ...string) string {
	ops := []string{"relu", "sigmoid", "tanh"}
	switch two := len(from) == 2 && from[0] != from[1]; {
	case two && d.matrices:
		ops = []string{"matmul", "matmul", "matmul", "add"}
	case two:
		ops = []string{"add", "sub", "max", "min"}
	case d.matrices:
		ops, from = []string{"softmax", "layernorm", "relu", "sigmoid"}, from[:1]
	default:
		from = from[:1]
	}
	name := "t" + strconv.Itoa(d.layers)
	d.layers++
	fmt.Fprintf(&d.text, "  - {name: %s, op: %s, from: [%s]}\n", name, ops[d.r.IntN(len(ops))], strings.Join(from, ", "))
	return name
}

// networkShapes lists ways to draw a network of about n layers. Few or many of its tensors are needed
// at once, and for a few or for most of its layers.
var networkShapes = []struct {
	name string
	draw func(d *drawing, n int)
}{
	{"chain", func(d *drawing, n int) {
		for at := "x"; d.layers < n; {
			at = d.add(at)
		}
	}},
	{"fan", func(d *drawing, n int) {
		var list []string
		for d.layers < n/2 {
			list = append(list, d.add("x"))
		}
		at := list[0]
		for _, next := range list[1:] {
			at = d.add(at, next)
		}
	}},
	{"nest", func(d *drawing, n int) { // the first result is read last
		list := []string{"x"}
		for d.layers < n/2 {
			list = append(list, d.add(list[d.layers]))
		}
		at := list[len(list)-1]
		for i := len(list) - 2; i > 0; i-- {
			at = d.add(at, list[i])
		}
	}},
	{"diamonds", func(d *drawing, n int) {
		for at := "x"; d.layers < n; {
			top := d.add(at)
			at = d.add(d.add(top), d.add(top))
		}
	}},
	{"ladder", func(d *drawing, n int) {
		for a, b := d.add("x"), d.add("x"); d.layers < n; {
			a, b = d.add(a, b), d.add(b, a)
		}
	}},
	{"grid", func(d *drawing, n int) {
		row := make([]string, int(math.Sqrt(float64(n))))
		for d.layers < n {
			left := "x"
			for i, above := range row {
				if above == "" {
					above = left
				}
				left = d.add(above, left)
				row[i] = left
			}
		}
	}},
	{"tree", func(d *drawing, n int) {
		list := []string{d.add("x")}
		for i := 0; d.layers < n/2; i++ { // the children of result i
			list = append(list, d.add(list[i]), d.add(list[i]))
		}
		for leaves := list[len(list)/2:]; len(leaves) > 1; {
			leaves = append(leaves[2:], d.add(leaves[0], leaves[1]))
		}
	}},
	{"skips to the first", func(d *drawing, n int) {
		first := d.add("x")
		for at := d.add(first); d.layers < n; {
			at = d.add(at, first)
		}
	}},
	{"hourglasses", func(d *drawing, n int) {
		depth := 2 + d.r.IntN(60)
		for at := "x"; d.layers < n; {
			var down []string
			for range depth {
				at = d.add(at)
				down = append(down, at)
			}
			for i := depth - 2; i >= 0; i-- {
				at = d.add(at, down[i])
			}
		}
	}},
	{"random", func(d *drawing, n int) {
		list := []string{"x"}
		for d.layers < n {
			list = append(list, d.add(list[d.layers], list[d.r.IntN(len(list))]))
		}
	}},
}

// A timed is a network with the processor's time for it.
type timed struct {
	layers int
	data   []byte
	took   time.Duration
}

// A line is a time in seconds for a number of layers: base + slope * layers.
type line struct{ base, slope float64 }

// fitLine returns the line with the least sum of squares of relative differences to the times in list.
// Neither of its numbers is below 0, as in a fit of times that grow faster than the networks.
func fitLine(list []timed) line {
	var n, su, sv, suu, suv float64
	for _, s := range list { // seconds a layer, as a function of 1/layers
		u, v := 1/float64(s.layers), s.took.Seconds()/float64(s.layers)
		n, su, sv, suu, suv = n+1, su+u, sv+v, suu+u*u, suv+u*v
	}
	base := (n*suv - su*sv) / (n*suu - su*su)
	switch slope := (sv - base*su) / n; {
	case base < 0:
		return line{0, sv / n}
	case slope < 0:
		return line{suv / suu, 0}
	default:
		return line{base, slope}
	}
}

// listSlow returns the networks that take more than twice the time of the line, and a little that does
// not depend on the network.
func (l line) listSlow(list []timed) (slow []*timed) {
	for i := range list {
		s := &list[i]
		if s.took.Seconds() > 2*(l.base+l.slope*float64(s.layers))+basisTime.Seconds() {
			slow = append(slow, s)
		}
	}
	return slow
}

// spread returns one of count sizes from 1,000 to most, each of which is the one before times the same
// factor.
func spread(i, count, most int) int {
	return int(1000 * math.Pow(float64(most)/1000, float64(i)/float64(count-1)))
}

// A fit to times that grow with the square of the layers finds the largest slow. It does not if they
// grow in proportion, from any start, or with a logarithm.
func TestFitFindsSquares(t *testing.T) {
	for _, c := range []struct {
		name string
		time func(layers float64) float64 // in seconds
		slow bool
	}{
		{"proportional", func(x float64) float64 { return x / 5000 }, false},
		{"with a start", func(x float64) float64 { return 0.3 + x/5000 }, false},
		{"a start alone", func(float64) float64 { return 2 }, false},
		{"with a logarithm", func(x float64) float64 { return x * math.Log2(x) / 50000 }, false},
		{"square", func(x float64) float64 { return x * x / 4e7 }, true},
		{"square after a start", func(x float64) float64 { return 0.05 + x*x/4e7 }, true},
	} {
		for _, count := range []int{10, 50} {
			var list []timed
			for i := range count {
				n := spread(i, count, 16000)
				list = append(list, timed{n, nil, time.Duration(c.time(float64(n)) * 1e9)})
			}
			if slow := fitLine(list).listSlow(list); (len(slow) > 0) != c.slow || c.slow && slow[len(slow)-1].layers < 15999 {
				t.Errorf("%s, %d networks: %d are slow with %+v; want the largest: %v", c.name, count, len(slow), fitLine(list), c.slow)
			}
		}
	}
}

// TestShapesGrow draws random networks of ten shapes. The time of each is at most twice a linear
// function of its number of layers, fitted to all networks of its shape, and at most that of
// docs/limits.md. Layers of half of the shapes' networks are elementwise, and those of the other half
// have matmuls, softmax and norms. With LONG it draws ten networks of 1,000 to 16,000 layers of each
// shape and half, and NETWORKS=n sets the number of all. Otherwise it draws three of up to 600, and of
// each shape one half, in turn, because a test run has minutes for everything.
func TestShapesGrow(t *testing.T) {
	if testing.Short() {
		t.Skip("networks of thousands of layers, each in a process of its own, are too slow for a short run")
	}
	t.Parallel()
	count, most, all := 3, 600, false
	if os.Getenv("LONG") != "" {
		count, most, all = 10, 16000, true
	}
	if n, err := strconv.Atoi(os.Getenv("NETWORKS")); err == nil {
		count, most, all = max(3, n/(2*len(networkShapes))), 16000, true
	}
	for k := range 2 * len(networkShapes) {
		shape, name, matrices := networkShapes[k/2], networkShapes[k/2].name, k%2 > 0
		if !all && k%2 != k/2%2 {
			continue
		}
		if matrices {
			name += " of matrices"
		}
		t.Run(name, func(t *testing.T) {
			var list []timed
			for i := range count {
				r := rand.New(rand.NewPCG(uint64(k), uint64(i)))
				d := newDrawing(r, matrices)
				shape.draw(d, spread(i, count, most))
				data := []byte(d.text.String())
				_, took := attacked(t, []string{"model"}, ".yaml", data)
				list = append(list, timed{d.layers, data, took})
			}
			for attempt := 1; ; attempt++ {
				fit := fitLine(list)
				slow := fit.listSlow(list)
				if len(slow) == 0 {
					t.Logf("%d networks: %.3f s and %.3f ms a layer", count, fit.base, 1000*fit.slope)
					break
				}
				if attempt == 4 {
					for _, s := range slow {
						t.Errorf("%d layers: %v, and the fit is %.3f s and %.3f ms a layer", s.layers, s.took, fit.base, 1000*fit.slope)
					}
					break
				}
				for _, s := range slow { // other work on the machine may be the reason
					_, took := attacked(t, []string{"model"}, ".yaml", s.data)
					s.took = min(s.took, took)
				}
			}
			last := &list[len(list)-1]
			growth{64 << 10, 0, 500 * time.Microsecond, last.layers}.check(t, []string{"model"}, ".yaml", last.data)
		})
	}
}

// TestAdviceCostsNoMoreThanTheAnswer compares the text of networks with many layers, which says
// what to change, with their JSON, which does not. The changes take at most as long as the rest.
func TestAdviceCostsNoMoreThanTheAnswer(t *testing.T) {
	if testing.Short() {
		t.Skip("networks of thousands of layers, each in a process of its own, are too slow for a short run")
	}
	t.Parallel()
	for _, c := range []struct {
		name string
		data []byte
	}{
		{"steps of an LSTM", ox.Model(ox.Input("x", 150, 1, 16), ox.Constant("w", []int{1, 64, 16}), ox.Constant("r", []int{1, 64, 16}), ox.Output("y"),
			ox.Node("LSTM", "y", []string{"x", "w", "r"}, ox.Int("hidden_size", 16)))},
		{"Where", manyNodes(600, func(from, to string) ox.Message { return ox.Node("Where", to, []string{"c", from, "x"}) })},
		{"Softmax", manyNodes(400, func(from, to string) ox.Message { return ox.Node("Softmax", to, []string{from}) })},
		{"Relu", manyNodes(2000, func(from, to string) ox.Message { return ox.Node("Relu", to, []string{from}) })},
	} {
		for attempt := 1; ; attempt++ {
			_, answer := attacked(t, []string{"model", "--json"}, ".onnx", c.data)
			_, both := attacked(t, []string{"model"}, ".onnx", c.data)
			t.Logf("%s: %v, and %v with advice", c.name, answer, both)
			if both <= 2*answer+2*basisTime {
				break
			}
			if attempt == 3 {
				t.Errorf("%s: %v, and %v with advice; want at most twice as long", c.name, answer, both)
				break
			}
		}
	}
}

// manyNodes returns an ONNX model in which each of n nodes reads the result of the one before. The
// nodes may also read the inputs x and c, which have the same shape.
func manyNodes(n int, node func(from, to string) ox.Message) []byte {
	parts := []ox.Message{ox.Input("x", 1, 8, 8, 8), ox.Input("c", 1, 8, 8, 8)}
	from := "x"
	for i := range n {
		to := fmt.Sprintf("t%d", i)
		parts = append(parts, node(from, to))
		from = to
	}
	return ox.Model(append(parts, ox.Output(from))...)
}
