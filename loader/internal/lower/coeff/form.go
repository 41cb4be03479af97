package coeff

import (
	"encoding/binary"
	"math"

	"github.com/x448/float16"

	"anesim/internal/datapath/lanes"
	"anesim/loader/layer"
)

// A Coding is an encoding of a task's weights. The zero value is dense fp16.
type Coding uint8

// The encodings.
const (
	dense        Coding = iota
	ZeroSkipping        // masks and nonzero fp16 values, for convolutions with stride 2
	Masked              // for each plane, a mask and then the nonzero fp16 values
	Palette4            // 4-bit indices into a codebook of 16 fp16 values
	Palette8            // 8-bit indices into a codebook of 256 fp16 values
	Int8s               // signed bytes, with a scale for each channel
)

// candidateCodings returns two lists of encodings to try for weights that a file stores in form f:
// those that match the form, and then the others. It returns empty lists for fp16.
func candidateCodings(f layer.Form) [2][]Coding {
	switch f {
	case layer.FormPalette:
		return [2][]Coding{{Palette4, Palette8}, {Int8s, Masked}}
	case layer.FormSparse:
		return [2][]Coding{{Masked}, {Palette4, Palette8, Int8s}}
	case layer.FormInt8:
		return [2][]Coding{{Int8s}, {Palette4, Palette8, Masked}}
	}
	return [2][]Coding{}
}

// packSmallestEncoding returns the planes in the smallest encoding that reproduces all weights
// exactly, trying first the encodings that match the form of the weights in the file. It returns
// nil unless the result is smaller than denseKernel and none of its lanes is larger than that lane
// of denseKernel.
func (f *ChannelWeights) packSmallestEncoding(planes []plane, denseKernel *Kernel) *Kernel {
	for _, list := range candidateCodings(f.form) {
		var best *Kernel
		for _, c := range list {
			if c == Masked && f.strided {
				continue // with a stride the bit means the zero-skipping coding
			}
			if k := f.packPlanesWithCoding(planes, c); k != nil && k.isSmallerThan(denseKernel) && (best == nil || k.Size() < best.Size()) {
				best = k
			}
		}
		if best != nil {
			if f.SizesOnly {
				best.Data = nil
			}
			return best
		}
	}
	return nil
}

// isSmallerThan reports whether k has fewer bytes than other, and no lane with more bytes than the
// same lane of other.
func (k *Kernel) isSmallerThan(other *Kernel) bool {
	if len(k.Lanes) != len(other.Lanes) || k.Size() >= other.Size() {
		return false
	}
	for i := range k.Lanes {
		if k.Lanes[i].Size > other.Lanes[i].Size {
			return false
		}
	}
	return true
}

// packPlanesWithCoding returns the planes packed with encoding c, or nil if c cannot reproduce all
// weights exactly. In each lane, every group starts at a multiple of 64 bytes.
func (f *ChannelWeights) packPlanesWithCoding(planes []plane, c Coding) *Kernel {
	var perLane [lanes.Count][]byte
	var books *[lanes.Count]codebook
	// Each lane has a palette of its own, before its planes (assumed, as in package tiles: no program has
	// one).
	if c == Palette4 || c == Palette8 {
		if books = f.collectCodebooks(planes, c.codebookSize()); books == nil {
			return nil
		}
		for i := range perLane {
			perLane[i] = books[i].appendEntries(perLane[i], c.codebookSize())
		}
	}
	group := 0
	var w []float16.Float16
	for _, p := range planes {
		// Every lane is padded at a new group, also a lane without planes in it, so that the group starts
		// at the same offset in each.
		if p.group != group {
			group = p.group
			for i := range perLane {
				perLane[i] = padTo64Bytes(perLane[i])
			}
		}
		b := perLane[p.lane]
		if c == Int8s {
			for n := range p.width {
				s, ok := f.channelScale(p.group, p.first+n)
				if !ok {
					return nil
				}
				b = appendFP16(b, s)
			}
		}
		// Biases stay fp16 in every encoding, before the plane, as in dense weights (assumed).
		for n := range p.width {
			if f.Bias != nil {
				b = appendFP16(b, f.Bias(p.group, p.first+n))
			}
		}
		w = f.appendPlane(w[:0], p)
		switch c {
		case Palette4, Palette8:
			b = books[p.lane].appendIndices(b, w, c)
		case Masked:
			b = appendMaskAndNonzeros(b, w)
		case Int8s:
			var ok bool
			if b, ok = f.appendInt8(b, w, p); !ok {
				return nil
			}
		}
		perLane[p.lane] = b
	}
	k := &Kernel{Coding: c}
	for _, b := range perLane {
		if len(b) > 0 {
			k.appendLane(b)
		}
	}
	return k
}

// appendPlane appends the weights of plane p to dst: for each tap, the weights of all channels of
// the plane.
func (f *ChannelWeights) appendPlane(dst []float16.Float16, p plane) []float16.Float16 {
	for k := range f.Taps {
		for n := range p.width {
			dst = append(dst, f.Weight(p.group, p.first+n, k))
		}
	}
	return dst
}

// codebookSize returns the number of entries in the codebook of a palette encoding, 16 or 256.
func (c Coding) codebookSize() int {
	if c == Palette4 {
		return 1 << 4
	}
	return 1 << 8
}

// A codebook holds the distinct weights of a lane in the order of their first use.
type codebook struct {
	list []float16.Float16
	at   map[float16.Float16]byte
}

// collectCodebooks returns the codebook of each lane, or nil if a lane has more distinct weights
// than entries.
func (f *ChannelWeights) collectCodebooks(planes []plane, entries int) *[lanes.Count]codebook {
	books := new([lanes.Count]codebook)
	for _, p := range planes {
		b := &books[p.lane]
		if b.at == nil {
			b.at = make(map[float16.Float16]byte, entries)
		}
		last, known := float16.Float16(0), false
		for n := range p.width {
			for k := range f.Taps {
				h := f.Weight(p.group, p.first+n, k)
				if known && h == last {
					continue
				}
				last, known = h, true
				if _, ok := b.at[h]; ok {
					continue
				}
				if len(b.list) == entries {
					return nil
				}
				b.at[h] = byte(len(b.list))
				b.list = append(b.list, h)
			}
		}
	}
	return books
}

// appendEntries appends the codebook to dst, followed by zeros up to the given number of entries.
// For the empty codebook of an unused lane it appends nothing.
func (b *codebook) appendEntries(dst []byte, entries int) []byte {
	if len(b.list) == 0 {
		return dst
	}
	for _, h := range b.list {
		dst = appendFP16(dst, h)
	}
	return append(dst, make([]byte, layer.ElementBytes*(entries-len(b.list)))...)
}

// appendIndices appends the codebook index of each weight in w to dst. For Palette4, two 4-bit
// indices share a byte, with the first in the low bits; otherwise each index is a byte.
func (b *codebook) appendIndices(dst []byte, w []float16.Float16, c Coding) []byte {
	for i, h := range w {
		n := b.at[h]
		if c == Palette4 && i%2 == 1 {
			dst[len(dst)-1] |= n << 4
			continue
		}
		dst = append(dst, n)
	}
	return dst
}

// appendMaskAndNonzeros appends one bit per weight, lowest first, and then the weights that are not
// +0.
func appendMaskAndNonzeros(dst []byte, w []float16.Float16) []byte {
	mask := len(dst)
	dst = append(dst, make([]byte, (len(w)+7)/8)...)
	for i, h := range w {
		if h != 0 {
			dst[mask+i/8] |= 1 << (i % 8)
			dst = binary.LittleEndian.AppendUint16(dst, uint16(h))
		}
	}
	return dst
}

// channelScale returns the scale of channel n of group g. It reports false if the weights have no
// scales or if this scale is not finite.
func (f *ChannelWeights) channelScale(g, n int) (float16.Float16, bool) {
	if f.scale == nil {
		return 0, false
	}
	s, ok := f.scale(g, n)
	return s, ok && s.IsFinite()
}

// appendInt8 appends a plane as signed bytes that reproduce the weights w when multiplied by
// their channels' scales. It reports false if a weight cannot be reproduced bit for bit.
func (f *ChannelWeights) appendInt8(dst []byte, w []float16.Float16, p plane) ([]byte, bool) {
	scales := make([]float32, p.width)
	for n := range scales {
		s, _ := f.channelScale(p.group, p.first+n)
		scales[n] = s.Float32()
	}
	for i, h := range w {
		s := scales[i%p.width]
		q := 0.0
		if s != 0 {
			q = math.RoundToEven(float64(h.Float32()) / float64(s))
		}
		if !(q >= math.MinInt8 && q <= math.MaxInt8) || float16.Fromfloat32(float32(s*float32(q))) != h {
			return dst, false
		}
		dst = append(dst, byte(int8(q)))
	}
	return dst, true
}
