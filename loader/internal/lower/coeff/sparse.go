package coeff

import (
	"encoding/binary"
	"math"

	"anesim/internal/datapath/lanes"
	"anesim/loader/layer"
)

// The compiler uses the zero-skipping form for dense convolutions of stride 2. A plane consists
// of
//
//	bias row | length of the body, 2 bytes | body | g/2 - 2 zero bytes
//
// The body holds, for each input channel, the taps of each stride phase. The entries of a phase
// are the g channels of its first tap, then those of the next. Every 8 entries have a byte that
// marks nonzero values, lowest bit first, followed by these fp16 values. A phase with an odd
// number of such bytes starts with a zero byte, and so does every phase of a 1x1 window.
//
// Planes of a depthwise convolution begin at multiples of 64 bytes. This follows from ExeCycles
// (2 of 2 tasks): two convolutions of 256 channels read 64 to 165 bytes per channel in addition
// to their source, whereas nine dense taps are 18. That these planes have the same form is
// inferred.
//
// The 1x1 form matches the compiler's section hash byte for byte. For 3x3 windows only the length
// of both examples' lanes matches, and the order of taps is inferred. None of 4 million forms
// with these lengths has the section's hash. They covered every order of the phases and of the
// taps in them, entries by tap and by channel; masks of 8, 16, 32 or 64 entries, with either byte
// first, before all values or between them; zero bytes at every place; phases outside the input
// channels, inside them or in blocks of 2 to 32 of them, with a count each or one for all; and
// windows filled up to 4x4 with empty taps, which also have eight bytes of masks per channel and,
// at 1x1, the two that are there.

// canPackSparse reports whether the zero-skipping form can store the weights: the length of every
// plane's body must fit in two bytes even if no weight is zero. How the compiler treats longer
// bodies is not known; here they stay dense.
func (f *ChannelWeights) canPackSparse(width, taps int, phases [][]int) bool {
	g := min(width, max(1, f.Channels/lanes.Count))
	channel := 0
	for _, phase := range phases {
		entries := len(phase) * g
		channel += 2*entries + (entries+7)/8 + 1
	}
	return f.Taps/taps*channel <= math.MaxUint16
}

// packSparseKernel returns the weights in the zero-skipping form, which stores only nonzero
// weights. width is the largest number of channels in a plane. The weights must have one group.
func (f *ChannelWeights) packSparseKernel(width, taps int, phases [][]int) *Kernel {
	if f.SizesOnly {
		return f.packSparseWithoutData(width, taps, phases)
	}
	k := &Kernel{Coding: ZeroSkipping}
	perLane := make([][]byte, lanes.Count)
	var body []byte
	for first := 0; first < f.Channels; {
		g, n := lanes.Planes(f.Channels-first, width)
		for i := range n {
			b := &perLane[i%lanes.Count]
			*b, body = f.appendSparsePlane(*b, body[:0], first, g, taps, phases)
			if f.aligned {
				*b = padTo64Bytes(*b)
			}
			first += g
		}
	}
	for _, b := range perLane {
		if len(b) > 0 {
			k.appendLane(b)
		}
	}
	return k
}

// maskBytes returns the number of mask bytes for a phase with the given number of weights. It
// includes the zero byte that is added if the count is odd or the window is 1x1.
func maskBytes(entries, taps int) int {
	n := (entries + 7) / 8
	if n%2 == 1 || taps == 1 {
		n++
	}
	return n
}

// appendSparsePlane appends the plane with channels first to first+g-1 to dst. It uses body as
// working memory. It returns both slices, which may have grown.
func (f *ChannelWeights) appendSparsePlane(dst, body []byte, first, g, taps int, phases [][]int) ([]byte, []byte) {
	if f.Bias != nil {
		for n := range g {
			dst = appendFP16(dst, f.Bias(0, first+n))
		}
	}
	for c := range f.Taps / taps {
		at := c * taps
		// Taps are stored by stride phase. That agrees with the lane lengths of a 3x3 program; the order
		// within a phase is inferred (see internal/datapath/tiles).
		for _, phase := range phases {
			entries := len(phase) * g
			if maskBytes(entries, taps) > (entries+7)/8 {
				body = append(body, 0)
			}
			mask := 0
			for i := range entries {
				if i%8 == 0 {
					mask = len(body)
					body = append(body, 0)
				}
				if h := f.Weight(0, first+i%g, at+i/g); h != 0 {
					body[mask] |= 1 << (i % 8)
					body = appendFP16(body, h)
				}
			}
			at += len(phase)
		}
	}
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(body)))
	dst = append(dst, body...)
	// The zeros at the end are as in the 1x1 program whose section has the compiler's hash; their reason
	// is not known.
	return append(dst, make([]byte, max(0, g/2-2))...), body
}

// packSparseWithoutData returns a kernel with the same lanes as packSparseKernel, but without data.
func (f *ChannelWeights) packSparseWithoutData(width, taps int, phases [][]int) *Kernel {
	k := &Kernel{Coding: ZeroSkipping}
	var perLane [lanes.Count]int
	for first := 0; first < f.Channels; {
		g, n := lanes.Planes(f.Channels-first, width)
		for i := range n {
			b := &perLane[i%lanes.Count]
			*b += layer.ElementBytes*(BiasRows(f.Bias != nil)*g+1) + f.sparseBodyBytes(first, g, taps, phases) + max(0, g/2-2)
			if f.aligned {
				*b = layer.RoundUp(*b, 64)
			}
			first += g
		}
	}
	base := 0
	for _, n := range perLane {
		if n = layer.RoundUp(n, 64); n > 0 {
			k.Lanes = append(k.Lanes, Lane{base, n})
			base += n
		}
	}
	return k
}

// sparseBodyBytes returns the number of bytes that the masks and nonzero weights of the g channels
// starting with channel first occupy in the zero-skipping form.
func (f *ChannelWeights) sparseBodyBytes(first, g, taps int, phases [][]int) (n int) {
	channels := f.Taps / taps
	if f.uniform {
		channels = 1
		defer func() { n *= f.Taps / taps }()
	}
	for c := range channels {
		at := c * taps
		for _, phase := range phases {
			entries := len(phase) * g
			n += maskBytes(entries, taps)
			for i := range entries {
				if f.Weight(0, first+i%g, at+i/g) != 0 {
					n += layer.ElementBytes
				}
			}
			at += len(phase)
		}
	}
	return n
}
