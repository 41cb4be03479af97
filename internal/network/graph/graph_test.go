package graph

import (
	"slices"
	"strings"
	"testing"
)

// TestNode holds what a node says of its inputs: which are there, what is known of them, and why
// something is not.
func TestNode(t *testing.T) {
	c := &Value{Name: "c"}
	c.Set(&Const{Dims: []int{2}, Type: Int64, Numbers: []float64{3, -1}})
	n := &Node{Op: "Op", Domain: "ai.onnx", In: []*Value{
		{Name: "x", Dims: []int{2, 3}, Type: Float}, {}, c, {Name: "y"}, {Name: "z", Why: "the loop has none"},
	}, Out: []*Value{{Name: "a"}, {}}}
	if n.Operator() != "Op" || (&Node{Op: "Op", Domain: "com.else"}).Operator() != "com.else.Op" {
		t.Errorf("an operator of the standard is %s", n.Operator())
	}
	for i, given := range []bool{true, false, true, true, true, false} {
		if n.Given(i) != given {
			t.Errorf("input %d is given: %t", i, !given)
		}
	}
	if n.Given(-1) || (*Value)(nil).Given() || !n.Asked(0) || n.Asked(1) || n.Asked(2) || n.Asked(-1) {
		t.Error("what is left out counts")
	}
	if n.Type(0) != Float || n.Type(2) != Int64 || n.Type(9) != 0 {
		t.Errorf("types are %v, %v and %v", n.Type(0), n.Type(2), n.Type(9))
	}
	if n.Const(0) != nil || n.Const(1) != nil || n.Const(2) != c.Const {
		t.Error("constants are others")
	}
	if d, err := n.Dims(0); err != nil || !slices.Equal(d, []int{2, 3}) {
		t.Errorf("dimensions are %v, %v", d, err)
	}
	for i, want := range map[int]string{1: "input 1 is missing", 3: `no earlier node produces tensor "y"`, 4: "the loop has none"} {
		if _, err := n.Dims(i); err == nil || err.Error() != want {
			t.Errorf("dimensions of input %d: %v, want %s", i, err, want)
		}
	}
}

// TestAttributes holds that an argument is the node's or the operator's own, bounded, and that a
// list may be an input too, which has to be a constant.
func TestAttributes(t *testing.T) {
	c, long := &Value{Name: "c"}, &Value{Name: "long"}
	c.Set(&Const{Dims: []int{2}, Type: Int64, Numbers: []float64{3, -1}})
	long.Set(&Const{Dims: []int{MaxList + 1}, Type: Int64})
	parts := &Value{Name: "parts"}
	parts.Set(&Const{Dims: []int{40}, Type: Int64, Numbers: make([]float64, 40)})
	n := &Node{In: []*Value{c, {Name: "computed", Dims: []int{2}}, long, parts}, Attr: map[string]*Attr{
		"i": {Int: 1 << 50}, "f": {Float: 0.5}, "t": {Text: "max"}, "list": ListOf(1, -2), "one": {Int: 4}, "huge": {Ints: []int64{-1 << 60}}, "axes": {Ints: make([]int64, 33)},
	}}
	if n.Int("i", 0) != MaxExtent || n.Int("none", 7) != 7 || n.Float("f", 0) != 0.5 || n.Float("none", 2) != 2 || n.Text("t", "") != "max" || n.Text("none", "min") != "min" {
		t.Errorf("arguments are %d, %g and %s", n.Int("i", 0), n.Float("f", 0), n.Text("t", ""))
	}
	for _, c := range []struct {
		name  string
		input int
		want  []int
		why   string
	}{
		{"list", -1, []int{1, -2}, ""},
		{"one", -1, []int{4}, ""}, // as old files have a list of one
		{"huge", -1, []int{-1 << 40}, ""},
		{"none", 0, []int{3, -1}, ""},
		{"none", 1, nil, `none "computed" is computed; want a constant`},
		{"none", 2, nil, `none "long" has 1048577 elements; want at most 32`},
		{"split", 2, nil, `split "long" has 1048577 elements; want at most 1048576`},
		{"split", 3, make([]int, 40), ""},
		{"pads", 3, nil, `pads "parts" has 40 elements; want at most 32`},
		{"axes", -1, nil, `attribute "axes" has 33 elements; want at most 32`},
	} {
		got, ok, err := n.List(c.name, c.input)
		if c.why != "" {
			if err == nil || !strings.Contains(err.Error(), c.why) {
				t.Errorf("a list of input %d: %v, want %s", c.input, err, c.why)
			}
			continue
		}
		if err != nil || !ok || !slices.Equal(got, c.want) {
			t.Errorf("%s of input %d is %v, %t, %v; want %v", c.name, c.input, got, ok, err, c.want)
		}
	}
	for _, input := range []int{-1, 5} {
		if _, ok, err := n.List("none", input); ok || err != nil {
			t.Errorf("a list that is nowhere is there: %t, %v", ok, err)
		}
	}
}

// TestValue holds that one number has known, empty dimensions, and that a value forgets all but its
// bounds.
func TestValue(t *testing.T) {
	v := &Value{Name: "v", Range: &Range{0, 1}}
	v.Set(&Const{Type: Float, Numbers: []float64{1}})
	if v.Dims == nil || len(v.Dims) != 0 || v.Type != Float {
		t.Errorf("a number has dimensions %v of %v", v.Dims, v.Type)
	}
	v.Forget()
	if v.Dims != nil || v.Const != nil || v.Type != 0 || v.Range == nil {
		t.Errorf("what is left is %+v", v)
	}
}

// TestPort holds that a port states a shape where all of its dimensions have sizes.
func TestPort(t *testing.T) {
	p := Port{Name: "x", Type: Float16, Dims: []Dim{{Size: 2}, {Size: 5}}}
	if r := p.Sizes(); r == nil || !slices.Equal(r.Dims, []int{2, 5}) || r.Type != Float16 {
		t.Errorf("two sizes are %+v", r)
	}
	for _, dims := range [][]Dim{nil, {{Size: 2}, {Name: "n"}}, {{Size: MaxExtent + 1}}, {{Size: -1}}} {
		if r := (&Port{Dims: dims}).Sizes(); r != nil {
			t.Errorf("%v states %+v", dims, r)
		}
	}
}

// TestPlaces holds where elements stand: in rows one behind the other, or where a tensor that
// repeats has them.
func TestPlaces(t *testing.T) {
	if s := Strides([]int{2, 3, 4}); !slices.Equal(s, []int{12, 4, 1}) {
		t.Errorf("steps are %v", s)
	}
	out, err := Broadcast([]int{3, 1}, []int{2, 1, 4})
	if err != nil || !slices.Equal(out, []int{2, 3, 4}) {
		t.Errorf("two tensors repeat to %v, %v", out, err)
	}
	if out, err := Broadcast(); err != nil || out == nil || len(out) != 0 {
		t.Errorf("no tensors repeat to %v, %v", out, err)
	}
	if _, err := Broadcast([]int{2}, []int{3}); err == nil {
		t.Error("2 repeats to 3")
	}
	var at []int
	Each([]int{2, 2, 2}, BroadcastStrides([]int{2, 1}, []int{2, 2, 2}), 5, func(i, place int) { at = append(at, place) })
	if !slices.Equal(at, []int{5, 5, 6, 6, 5, 5, 6, 6}) {
		t.Errorf("a repeated column stands at %v", at)
	}
}

// TestBounds holds which dimensions can be counted, and which the engine may take: four axes, of
// which the first may be several together.
func TestBounds(t *testing.T) {
	for _, c := range []struct {
		dims            []int
		countable, fits bool
	}{
		{nil, true, true},
		{[]int{1, 2, 3, 4}, true, true},
		{[]int{3, 0}, true, false},
		{[]int{-1}, false, false},
		{[]int{MaxExtent + 1}, true, false},
		{[]int{MaxExtent, 2, 1, 1, 1}, true, false},
		{[]int{1 << 10, 1 << 10, 1, 1, 1}, true, true},
		{[]int{1 << 21, 1 << 20}, false, false},
		{make([]int, MaxRank+1), false, false},
	} {
		if err := CheckExtents(c.dims); (err == nil) != c.countable || FitsEngine(c.dims) != c.fits {
			t.Errorf("%v is countable: %v, fits: %t", c.dims, err, FitsEngine(c.dims))
		}
	}
}
