package planar

import (
	"errors"
	"math"
	"testing"
)

// TestFromWordsOfPrograms checks the meaning of PE words from real programs.
func TestFromWordsOfPrograms(t *testing.T) {
	n := Neutral
	bias := n(Add)
	bias.Bias = 0x3800
	mean := n(Add)
	mean.FinalScale = 1. / 64
	spread := n(SumSquare)
	spread.Negate1, spread.Epsilon, spread.Post, spread.FinalScale = true, 0x00a8, PostRsqrt, 1./128
	largest, inverse, absolute, rectified := n(Add), n(Add), n(Add), n(Add)
	largest.Kind, inverse.Post, absolute.Post, rectified.ReLU = ReduceMax, PostReciprocal, PostAbs, true
	exponent := subtract()
	exponent.Scale = 0x3dc5
	for _, c := range []struct {
		program string
		form    Form
		w       Words
		want    Config
	}{
		{"binary_add", FormTwo, Words{0x80000, 0x3c000000, 0x3c000000, 0x3f800000}, n(Add)},
		{"binary_mul", FormTwo, Words{0x80004, 0x3c000000, 0x3c000000, 0x3f800000}, n(Mul)},
		{"binary_maximum", FormTwo, Words{0x80008, 0x3c000000, 0x3c000000, 0x3f800000}, n(Max)},
		{"minimum", FormTwo, Words{0x8000c, 0x3c000000, 0x3c000000, 0x3f800000}, n(Min)},
		{"binary_sub", FormTwo, Words{0xc0000, 0x3c000000, 0x3c000000, 0x3f800000}, subtract()},
		{"env_bcast_add scalar", FormOne, Words{0, 0x3c003800, 0x3c000000, 0x3f800000}, bias},
		{"env_bcast_mul blob, 2nd task", FormChannel, Words{0x80000, 0x3c000000, 0x3c000000, 0x3f800000}, n(Add)},
		{"reduce_mean_axes_2_3", FormReduce, Words{0, 0x3c000000, 0x3c000000, 0x3c800000}, mean},
		{"reduce_sum_axes_1, 2nd task", FormReduce, Words{0, 0x3c000000, 0x3c000000, 0x3f800000}, n(Add)},
		{"norm_layer_norm 128, 2nd task", FormReduceTwo, Words{0x92010, 0x3c000000, 0x3c0000a8, 0x3c000000}, spread},
		{"norm_layer_norm, 3rd task", FormChannel, Words{0xc0000, 0x3c000000, 0x3c000000, 0x3f800000}, subtract()},
		{"reduce_max_axes_2_3", FormReduce, Words{2, 0x3c000000, 0x3c000000, 0x3f800000}, largest},
		{"norm_softmax_a3, 4th task", FormReduce, Words{0x1000, 0x3c000000, 0x3c000000, 0x3f800000}, inverse},
		{"unary_abs_c64", FormOne, Words{0x40, 0x3c000000, 0x3c000000, 0x3f800000}, absolute},
		{"chain_add_relu_c512", FormTwo, Words{0x80020, 0x3c000000, 0x3c000000, 0x3f800000}, rectified},
		{"norm_softmax, 2nd task", FormTwo, Words{0xc0000, 0x3dc50000, 0x3c000000, 0x3f800000}, exponent},
	} {
		got, err := FromWords(c.form, c.w, false)
		if err != nil || got != c.want {
			t.Errorf("%s: %+v, %v, want %+v", c.program, got, err, c.want)
		}
	}
	if got, _ := FromWords(FormTwo, Words{Cfg: 0x80000}, true); !got.Relu2 {
		t.Error("env_chain_residual_relu: L2.Cfg bit 4 is lost")
	}
	if got, err := FromWords(FormReduce, Words{Cfg: 8}, false); err != nil || got.Kind != ReduceMax || got.Op != Add {
		t.Error(got, err)
	}
}

func TestFromWordsRefuses(t *testing.T) {
	for _, c := range []struct {
		form Form
		cfg  uint32
	}{
		{FormNone, 0}, {1, 0}, {7, 0x80000}, // no such form
		{FormTwo, 0x80040},                    // absolute value of two sources
		{FormTwo, 0x80002}, {FormReduce, 0xa}, // a maximum of two sources, and twice
		{FormReduce, 0x3000},          // two functions
		{FormTwo, 0x84000},            // beside rsqrt
		{FormTwo, 0x80014},            // OpMode 5
		{FormTwo, 0},                  // no second source
		{FormOne, 0x80000},            // one too many
		{FormOne, 4}, {FormReduce, 4}, // product
		{FormChannel, 0x80004},
	} {
		_, err := FromWords(c.form, Words{c.cfg, 0x3c000000, 0x3c000000, math.Float32bits(1)}, false)
		var we *WordError
		if !errors.As(err, &we) {
			t.Errorf("form %d, Cfg %#x: %v", c.form, c.cfg, err)
		}
	}
}
