package tiles

import (
	"github.com/x448/float16"

	"anesim/hw/regs"
	"anesim/internal/datapath/mac"
)

// PassThrough copies a tensor of shape s from src to dst and applies post to each element, with the
// given number of goroutines. If post has no effect, all elements except NaNs keep their bits, even
// subnormal values and -0, as measured on silicon. NaN becomes +Inf.
func PassThrough(dst Sink, src Source, s regs.Shape, post mac.Post, workers int) {
	exact := post.Scale == 1 && post.Bias == 0 && !post.ReLU && post.Table == nil
	forEachParallel(s.Channels, workers, func(next func() (int, bool)) {
		row := make([]float16.Float16, s.Width)
		acc := make([]float32, s.Width)
		for c, ok := next(); ok; c, ok = next() {
			for y := range s.Height {
				src.Row(row, c, y)
				if exact {
					for i, h := range row {
						if h.IsNaN() {
							row[i] = positiveInfinity
						}
					}
				} else {
					mac.Widen(acc, row)
					post.Apply(row, acc)
				}
				dst.SetRow(row, c, y, 0)
			}
		}
	})
}

const positiveInfinity = float16.Float16(0x7c00)

// ChannelMaximum computes the maximum over channels 0 to channels-1 of src for each pixel, applies
// post, and stores the results in channel 0 of dst, which has shape s.
func ChannelMaximum(dst Sink, src Source, s regs.Shape, channels int, post mac.Post) {
	row := make([]float16.Float16, s.Width)
	acc, next := make([]float32, s.Width), make([]float32, s.Width)
	for y := range s.Height {
		for c := range channels {
			src.Row(row, c, y)
			mac.Widen(next, row)
			for i, v := range next {
				if c == 0 || v > acc[i] {
					acc[i] = v
				}
			}
		}
		post.Apply(row, acc)
		dst.SetRow(row, 0, y, 0)
	}
}

// ChannelProduct sets channel c of dst, whose shape is s, to the product of channels 2c and 2c+1 of
// src, and applies post. Products are exact. The product of zero and infinity is +0.
func ChannelProduct(dst Sink, src Source, s regs.Shape, post mac.Post) {
	a, b := make([]float16.Float16, s.Width), make([]float16.Float16, s.Width)
	acc, second := make([]float32, s.Width), make([]float32, s.Width)
	for c := range s.Channels {
		for y := range s.Height {
			src.Row(a, 2*c, y)
			src.Row(b, 2*c+1, y)
			mac.Widen(acc, a)
			mac.Widen(second, b)
			for i := range acc {
				v := float32(acc[i] * second[i])
				if v != v {
					v = 0
				}
				acc[i] = v
			}
			post.Apply(a, acc)
			dst.SetRow(a, c, y, 0)
		}
	}
}

// ChannelSum computes the sum over channels 0 to channels-1 of src for each pixel, applies post,
// and stores the results in channel 0 of dst, which has shape s. The sum is computed as a
// multiply-accumulate with all weights equal to one.
func ChannelSum(dst Sink, src Source, s regs.Shape, channels int, arithmetic mac.Arithmetic, post mac.Post) {
	bias, post := post.Start()
	start := mac.Start{PerVector: []float32{bias}}
	row := make([]float16.Float16, s.Width)
	lanes := panelWidth(channels, s.Width)
	panel := make([]float32, channels*lanes)
	acc := make([]float32, lanes)
	ones := make([]float32, channels)
	for i := range ones {
		ones[i] = 1
	}
	taps := mac.NewTaps(1, channels)
	taps.Set(0, ones)
	out := make([]float16.Float16, lanes)
	for y := range s.Height {
		for x := 0; x < s.Width; x += lanes {
			n := min(lanes, s.Width-x)
			for c := range channels {
				src.Row(row[:x+n], c, y)
				arithmetic.Widen(panel[c*lanes:][:n], row[x:x+n])
				clear(panel[c*lanes+n : (c+1)*lanes])
			}
			arithmetic.Reduce(acc, panel, lanes, taps, start)
			post.Apply(out[:n], acc[:n])
			dst.SetRow(out[:n], 0, y, x)
		}
	}
}
