package coeff

import (
	"encoding/binary"
	"math"

	"anesim/hw/lanes"
	"anesim/loader/layer"
)

// The zero-skipping form, which the compiler uses for dense convolutions of stride 2. A
// plane is
//
//	bias row | length of the body, 2 bytes | body | g/2 - 2 zero bytes
//
// and the body has, for each input channel, the taps of each stride phase in turn: the
// g channels of each tap side by side are its entries, and every 8 entries have a byte
// that says which are not zero, lowest bit first, and then those fp16 values. A phase with an
// odd number of such bytes starts with a zero byte, and every phase of a 1x1 window does.
// The planes of channels by themselves begin at multiples of 64 bytes (2/2, from ExeCycles:
// what two convolutions of 256 channels read beside their source is 64 to 165 bytes a
// channel, where nine dense taps are 18; that the planes have this form is inferred).
//
// The 1x1 form is the compiler's byte for byte (section hash); of 3x3 the length of both
// examples' lanes is, and the order of its taps is inferred. None of 4 million forms of those
// lengths has the section's hash: every order of the phases and of the taps in them, entries
// by tap and by channel; masks of 8, 16, 32 or 64 entries, either byte first, before all
// values or between them; the zero bytes at every place; phases outside the input channels,
// inside them or in blocks of 2 to 32 of them, a count each or one for all; and windows filled
// up with empty taps to 4x4, which would also be eight bytes of masks a channel and, at 1x1,
// the two that are there.

// sparseFits reports whether the body of every plane has a length that two bytes hold,
// zeros or not (assumed: what the compiler does with a longer one is not known; here it
// stays dense).
func (f *ChannelWeights) fitsSparse(width, taps int, phases [][]int) bool {
	g := min(width, max(1, f.Channels/lanes.Count))
	channel := 0
	for _, phase := range phases {
		entries := len(phase) * g
		channel += 2*entries + (entries+7)/8 + 1
	}
	return f.Taps/taps*channel <= math.MaxUint16
}

// packSparse is pack in the zero-skipping form; the filter has one group.
func (f *ChannelWeights) packSparse(width, taps int, phases [][]int) *Kernel {
	if f.SizesOnly {
		return f.packSparseSizes(width, taps, phases)
	}
	k := &Kernel{Coding: ZeroSkipping}
	perLane := make([][]byte, lanes.Count)
	var body []byte
	for i := range perLane {
		dense := f.Channels / lanes.Count * (f.Taps + 1) * layer.ElementBytes
		perLane[i] = make([]byte, 0, dense+dense/8)
	}
	for first := 0; first < f.Channels; {
		g, n := lanes.Planes(f.Channels-first, width)
		for i := range n {
			b := &perLane[i%lanes.Count]
			*b, body = f.appendSparsePlane(*b, body[:0], first, g, taps, phases)
			if f.aligned {
				*b = pad64(*b)
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

// maskBytes is the bytes of a phase beside its values: the masks, and the zero ahead of an
// odd number of them.
func maskBytes(entries, taps int) int {
	n := (entries + 7) / 8
	if n%2 == 1 || taps == 1 {
		n++
	}
	return n
}

// sparsePlane appends the plane of g channels. body is room for its body, which it
// returns for the next plane.
func (f *ChannelWeights) appendSparsePlane(dst, body []byte, first, g, taps int, phases [][]int) ([]byte, []byte) {
	if f.Bias != nil {
		for n := range g {
			dst = appendHalf(dst, f.Bias(0, first+n))
		}
	}
	for c := range f.Taps / taps {
		at := c * taps
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
					body = appendHalf(body, h)
				}
			}
			at += len(phase)
		}
	}
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(body)))
	dst = append(dst, body...)
	return append(dst, make([]byte, max(0, g/2-2))...), body
}

// sizeSparse is the lanes of packSparse without their bytes.
func (f *ChannelWeights) packSparseSizes(width, taps int, phases [][]int) *Kernel {
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

// sparseBody is the length of a plane's body.
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
