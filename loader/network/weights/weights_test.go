package weights_test

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/x448/float16"

	"anesim/internal/network/keys"
	"anesim/loader/layer"
	"anesim/loader/lower"
	"anesim/loader/network/list"
	"anesim/loader/network/weights"
)

// A filter that is made as it is packed gives the program that the same filter in memory
// gives, byte for byte.
func TestStreamed(t *testing.T) {
	for _, text := range []string{
		"conv cin=48 h=9 w=9 cout=80 k=3 pad=1 bias=true",
		"conv cin=37 h=9 w=9 cout=53 k=1",
		"conv cin=16 h=12 w=12 cout=32 k=3 pad=2 dilation=2",
		"conv cin=64 h=14 w=14 cout=64 k=3 pad=1 stride=2",
		"conv cin=62 h=9 w=16 cout=32 k=1 stride=2 pad=same", // its window is widened to 2x2
		"conv cin=62 h=9 w=16 cout=32 k=1 stride=2",
		"conv cin=2048 h=4 w=4 cout=64 k=3 pad=1 stride=2",
		"conv cin=32 h=8 w=8 cout=64 k=3 pad=1 groups=4",
		"conv cin=32 h=8 w=8 cout=32 k=3 pad=1 groups=32",
		"conv cin=1 h=1 w=1024 cout=16 kh=1 kw=9 stride=2",
		"conv cin=64 h=8 w=8 cout=64 k=1 act=sigmoid",
		"conv cin=512 h=28 w=28 cout=2048 k=3 pad=1",
		"deconv cin=24 h=5 w=5 cout=20 k=4 stride=2",
		"linear m=1 k=300 n=200 bias=true",
		"linear m=160 k=700 n=900",
		"matmul m=1 k=300 n=200",
		"matmul m=16 k=64 n=128",
		"matmul m=200 k=1024 n=2048 bias=true",
		"relu c=8 h=2 w=2",
	} {
		words := strings.Fields(text)
		o, ok := keys.Find(words[0])
		if !ok {
			t.Fatal(text)
		}
		keys, err := o.ParseKeys(words[1:])
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		l, err := o.Single(keys)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		whole, err := weights.Complete(l, 7)
		if err != nil {
			t.Fatal(err)
		}
		made, err := weights.Streamed(l, 7)
		if err != nil {
			t.Fatal(err)
		}
		if made.Filter != nil || (whole.Filter != nil) != (made.Source != nil) {
			t.Errorf("%s: %d values in memory, source %v", text, len(made.Filter), made.Source != nil)
		}
		want, err := lower.Lower(l.Lower, whole)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got, err := lower.Lower(l.Lower, made)
		if err != nil || !bytes.Equal(got.Bytes(), want.Bytes()) {
			t.Errorf("%s: another program than with the filter in memory, %v", text, err)
		}
	}
	// One that was given stays.
	l := &list.Layer{Lower: layer.Product(1, 2, 3, layer.Constant)}
	w, err := weights.Complete(l, 1)
	if err != nil {
		t.Fatal(err)
	}
	l.Weights.Filter = w.Filter
	if made, err := weights.Streamed(l, 2); err != nil || made.Source != nil || &made.Filter[0] != &w.Filter[0] {
		t.Errorf("a filter that is there became a source, %v", err)
	}
}

// TestDroppedShare checks that only weights below 2^-13 count as lost, and that infinities do not
// make the share undefined.
func TestDroppedShare(t *testing.T) {
	for _, tc := range []struct {
		filter []float32
		want   float64
	}{
		{nil, 0},
		{[]float32{0, 0}, 0},
		{[]float32{1, 0.5}, 0},
		{[]float32{1. / 32768, 1. / 65536}, 1},
		{[]float32{6. / 65536, 8. / 65536}, 0.6},
		{[]float32{6. / 65536, 8. / 65536, float32(math.Inf(1)), float32(math.NaN())}, 0.6},
	} {
		var l list.Layer
		for _, v := range tc.filter {
			l.Weights.Filter = append(l.Weights.Filter, float16.Fromfloat32(v))
		}
		if got := weights.DroppedShare(&l); got != tc.want {
			t.Errorf("%v: share is %v, want %v", tc.filter, got, tc.want)
		}
	}
}

// The head of a language model with a quarter of a million tokens has 2^30 weights. It can be timed, and
// run with weights of a file; only so many made-up ones are refused, and what no program can address.
func TestManyWeights(t *testing.T) {
	head := func(columns int) *list.Layer {
		return &list.Layer{Lower: layer.Product(1, 4096, columns, layer.Constant)}
	}
	if w, err := weights.Sizes(head(1<<18), 1); err != nil || w.Filter != nil {
		t.Errorf("time of 2^30 weights: %v", err)
	} else if p, err := lower.Sized(head(1<<18).Lower, w); err != nil || p.TaskCount < 2 {
		t.Errorf("program of 2^30 weights: %v", err)
	}
	for what, complete := range map[string]func(*list.Layer, uint64) (layer.Weights, error){"made-up": weights.Complete, "streamed": weights.Streamed, "time": weights.Sizes} {
		columns, limit := weights.MaxCoefficients/4096+1, "268435456"
		if what == "time" {
			columns, limit = 1<<19+1, "2147483648"
		}
		if _, err := complete(head(columns), 1); err == nil || !strings.Contains(err.Error(), limit) {
			t.Errorf("%s: %v; want a limit of %s weights", what, err, limit)
		}
	}
}
