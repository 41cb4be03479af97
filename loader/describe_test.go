package loader

import (
	"slices"
	"testing"

	"anesim/internal/material"
)

// TestDescribe holds the words to what real programs are known to compute.
func TestDescribe(t *testing.T) {
	for _, tt := range []struct {
		file string
		want []string // operations
	}{
		{"text/conv_T127_k3_c64_n64_s64_same.text.bin", []string{"3x3 convolution, padding 1x1"}},
		{"text/conv_T51_k1_c256_n256_s16_bias.text.bin", []string{"1x1 convolution with bias"}},
		{"text/env_conv_k3_c64_n64_s16_st1_g4_bias0.text.bin", []string{"3x3 convolution in 4 groups, padding 1x1"}},
		{"text/conv_T175_k3_c64_g64_s16.text.bin", []string{"3x3 convolution of each channel by itself, padding 1x1"}},
		{"text/binary_sub_1x64x8x8.text.bin", []string{"difference of two sources"}},
		{"text/binary_maximum_1x128x16x16.text.bin", []string{"maximum of two sources"}},
		{"text/env_bcast_add_1x64x8x8_scalar.text.bin", []string{"addition of 0.5"}},
		{"text/reduce_mean_axes_2_3.text.bin", []string{"mean of each channel"}},
		{"text/reduce_max_axes_1.text.bin", []string{"maximum over the channels"}},
		{"text/unary_relu_c64.text.bin", []string{"ReLU"}},
		{"text/unary_rsqrt_c64.text.bin", []string{"reciprocal or reciprocal square root by a table of mantissas"}},
		{"../oracles/unary_abs_c64.text.bin", []string{"absolute value"}},
		{"../oracles/chain_add_relu_c512.text.bin", []string{"sum of two sources, then ReLU"}},
		{"../oracles/binary_pow_1x64x8x8.text.bin", []string{"copy", "activation by table", "product over the channels, then activation by table"}},
		{"text/matvec_m1_k256_n256.text.bin", []string{"copy, the result transposed", "matrix product, the result transposed"}},
		{"text/norm_layer_norm_ax3_1x1x1x64.text.bin", []string{
			"mean of each channel",
			"mean of the square of the difference of two sources, source 2 less source 1, plus 0.00001001358, then the reciprocal square root",
			"source 1 less the first row of source 2, times its second row",
		}},
	} {
		p, err := Open(material.File(t, "programs/"+tt.file))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for d, err := range p.Describe() {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, d.Operation)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s computes %q, want %q", tt.file, got, tt.want)
		}
	}
}

// TestDescribeExample has all lines of a description.
func TestDescribeExample(t *testing.T) {
	p, err := exampleProgram("conv")
	if err != nil {
		t.Fatal(err)
	}
	for d, err := range p.Describe() {
		if err != nil {
			t.Fatal(err)
		}
		const want = "1x1 convolution with bias; reads 5 channels, input x (b5); weights: 192 bytes, 64 for each of 3 engines, the constants (b1); writes 3 channels, output y (b4)"
		if got := d.String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
