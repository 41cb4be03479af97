package tiles

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/x448/float16"

	"anesim/hw/regs"
	"anesim/internal/datapath/mac"
)

// everyHalf is a tensor of all 65536 halves in four channels.
func everyHalf() (*tensor, regs.Shape) {
	src := newTensor(4, 128, 128)
	for i := range src.data {
		src.data[i] = half(i)
	}
	return src, regs.Shape{Groups: 1, Channels: 4, Height: 128, Width: 128}
}

// With nothing to do the bits pass, denormals and -0 included; only NaN becomes +Inf.
func TestPassThroughCopiesBits(t *testing.T) {
	src, s := everyHalf()
	for _, workers := range []int{1, 3} {
		dst := newTensor(4, 128, 128)
		PassThrough(dst, src, s, mac.Post{Scale: 1}, workers)
		if err := dst.once(); err != nil {
			t.Fatal(err)
		}
		for i, got := range dst.data {
			want := half(i)
			if want.IsNaN() {
				want = 0x7c00
			}
			if got != want {
				t.Errorf("%#04x comes out as %#04x, want %#04x", i, uint16(got), uint16(want))
			}
		}
	}
}

func TestPassThroughReLU(t *testing.T) {
	src, s := everyHalf()
	dst := newTensor(4, 128, 128)
	PassThrough(dst, src, s, mac.Post{Scale: 1, ReLU: true}, 2)
	for i, got := range dst.data {
		want := half(i)
		switch {
		case want.IsNaN():
			want = 0x7c00
		case want&0x8000 != 0:
			want = 0
		}
		if got != want {
			t.Errorf("relu(%#04x) = %#04x, want %#04x", i, uint16(got), uint16(want))
		}
	}
}

func TestPassThroughScalesAndAdds(t *testing.T) {
	src := newTensor(1, 1, 5)
	copy(src.data, []half{0x3c00, 0xc000, 0x0001, 0x7bff, 0x7e00}) // 1, -2, 2^-24, 65504, NaN
	dst := newTensor(1, 1, 5)
	PassThrough(dst, src, regs.Shape{Groups: 1, Channels: 1, Height: 1, Width: 5}, mac.Post{Scale: 2, Bias: 1}, 1)
	want := []half{0x4200, 0xc200, 0x3c00, 0x7c00, 0x7c00}
	if d := cmp.Diff(want, dst.data); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// A denormal reaches the table as it is.
func TestPassThroughTable(t *testing.T) {
	src, s := everyHalf()
	for _, a := range mac.Activations() {
		table := mac.TableOf(a)
		dst := newTensor(4, 128, 128)
		PassThrough(dst, src, s, mac.Post{Scale: 1, Table: table}, 2)
		for i, got := range dst.data {
			if want := table.Eval(half(i)); got != want {
				t.Fatalf("%v(%#04x) = %#04x, want %#04x", a, i, uint16(got), uint16(want))
			}
		}
	}
}

func TestChannelMaximum(t *testing.T) {
	src := newTensor(3, 2, 2)
	copy(src.data, []half{
		0x3c00, 0xc000, 0x8000, 0x7e00, // 1, -2, -0, NaN
		0x4000, 0xbc00, 0x8000, 0x3c00, // 2, -1, -0, 1
		0x3800, 0xfc00, 0x0001, 0x7bff, // 0.5, -Inf, 2^-24, 65504
	})
	dst := newTensor(1, 2, 2)
	ChannelMaximum(dst, src, regs.Shape{Groups: 1, Channels: 1, Height: 2, Width: 2}, 3, mac.Post{Scale: 1})
	if d := cmp.Diff([]half{0x4000, 0xbc00, 0x0001, 0x7c00}, dst.data); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if err := dst.once(); err != nil {
		t.Error(err)
	}
}

// A sum of channels is a reduction with ones, for any width.
func TestChannelSum(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, width := range []int{1, 2, 63, 64, 65, 200} {
		for _, channels := range []int{2, 3, 64, 100} {
			src := newTensor(channels, 3, width)
			for i := range src.data {
				src.data[i] = randomHalf(r)
			}
			ones := make([]half, channels)
			for i := range ones {
				ones[i] = 0x3c00
			}
			dst := newTensor(1, 3, width)
			ChannelSum(dst, src, regs.Shape{Groups: 1, Channels: 1, Height: 3, Width: width}, channels, mac.H13, mac.Post{Scale: 1})
			if err := dst.once(); err != nil {
				t.Fatal(err)
			}
			for i, got := range dst.data {
				column := make([]half, channels)
				for c := range column {
					column[c] = src.data[src.at(c, i/width, i%width)]
				}
				if want := mac.Dot(column, ones); got != want {
					t.Fatalf("%d channels, width %d, element %d: %#04x, want %#04x", channels, width, i, uint16(got), uint16(want))
				}
			}
		}
	}
}

// TestChannelSumProbe checks the sum of 4096 and then 1024 ones, which is 5116 on silicon.
func TestChannelSumProbe(t *testing.T) {
	src := newTensor(1025, 1, 1)
	src.data[0] = float16.Fromfloat32(4096)
	for i := range 1024 {
		src.data[1+i] = 0x3c00
	}
	dst := newTensor(1, 1, 1)
	ChannelSum(dst, src, regs.Shape{Groups: 1, Channels: 1, Height: 1, Width: 1}, 1025, mac.H13, mac.Post{Scale: 1})
	if want := float16.Fromfloat32(5116); dst.data[0] != want {
		t.Errorf("%v, want %v", dst.data[0], want)
	}
}
