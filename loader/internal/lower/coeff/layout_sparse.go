package coeff

import (
	"encoding/binary"

	"github.com/x448/float16"

	"anesim/hw/regs"
	"anesim/internal/datapath/lanes"
	"anesim/loader/layer"
)

// The zero-skipping form of a 1x1 window is known byte for byte. Its weights are replaced by
// reading, changing and packing every plane. A lane keeps its place and its size, so replacing
// zeros with other weights may fail.

// isSparsePointwise reports whether a descriptor has zero-skipping weights of a 1x1 window.
func isSparsePointwise(g *regs.Groups) bool {
	v := g.Common.ConvCfg
	return g.NE.KernelCfg.Sparse() && v.Kh() == 1 && v.Kw() == 1 && v.Sx() == 2 && v.Sy() == 2 &&
		g.GroupCount() == 1 && !g.Common.GroupConvCfg.UnicastEn() && int(g.Common.Cout.Cout())%lanes.Count == 0
}

// setSparseWeights replaces the weights and biases of a zero-skipping kernel in constants. If
// weights or biases is nil, the current values stay. It returns a *LayoutError if constants is not
// valid or if the new weights need more bytes than a lane has.
func (l *Layout) setSparseWeights(constants []byte, weights, biases []float16.Float16) error {
	old, err := l.readSparseWeights(constants)
	if err != nil {
		return err
	}
	if weights == nil {
		weights = old.weights
	}
	if biases == nil {
		biases = old.biases
	}
	f := l.weights
	f.Weight = func(_, n, k int) float16.Float16 { return weights[n*l.Taps+k] }
	if l.Bias {
		f.Bias = func(_, n int) float16.Float16 { return biases[n] }
	}
	k := f.packSparseKernel(l.width, 1, [][]int{{0}})
	for i, s := range l.lanes {
		if n := uint64(k.Lanes[i].Size); n > s.size {
			return newLayoutError("lane %d has %d bytes; the new values need %d", i, s.size, n)
		}
	}
	for i, s := range l.lanes {
		lane := constants[s.base : s.base+s.size]
		clear(lane[copy(lane, k.Data[k.Lanes[i].Base:][:k.Lanes[i].Size]):])
	}
	return nil
}

// sparseValues holds the weights and biases of zero-skipping lanes.
type sparseValues struct{ weights, biases []float16.Float16 }

// readSparseWeights decodes the weights and biases of a zero-skipping kernel from constants. It
// returns a *LayoutError if they are not valid.
func (l *Layout) readSparseWeights(constants []byte) (*sparseValues, error) {
	if len(l.lanes) != lanes.Count {
		return nil, newLayoutError("descriptor enables %d lanes; want %d", len(l.lanes), lanes.Count)
	}
	v := &sparseValues{make([]float16.Float16, l.Channels*l.Taps), make([]float16.Float16, l.Channels)}
	var read [lanes.Count]sparseLane
	for i, s := range l.lanes {
		if s.base > uint64(len(constants)) || s.size > uint64(len(constants))-s.base {
			return nil, newLayoutError("lane of %#x bytes at %#x extends past the end of the constants (%#x bytes)", s.size, s.base, len(constants))
		}
		read[i] = sparseLane{b: constants[s.base : s.base+s.size]}
	}
	for first := 0; first < l.Channels; {
		g, _ := lanes.Planes(l.Channels-first, l.width)
		for i := range read {
			if !read[i].readPlane(l, v, first, g) {
				return nil, newLayoutError("lane %d has an invalid zero-skipping plane of %d channels", i, g)
			}
			first += g
		}
	}
	return v, nil
}

// A sparseLane decodes the planes of a lane in order.
type sparseLane struct{ b []byte }

// takeBytes returns the next n bytes of the lane and moves past them, or returns nil if there are
// fewer.
func (s *sparseLane) takeBytes(n int) []byte {
	if n > len(s.b) {
		return nil
	}
	b := s.b[:n:n]
	s.b = s.b[n:]
	return b
}

// readPlane decodes the next plane of the lane and stores its weights and biases as those of
// channels first to first+g-1 of v. It reports false if the bytes are not a valid plane.
func (s *sparseLane) readPlane(l *Layout, v *sparseValues, first, g int) bool {
	if l.Bias {
		b := s.takeBytes(layer.ElementBytes * g)
		if b == nil {
			return false
		}
		for n := range g {
			v.biases[first+n] = float16.Frombits(binary.LittleEndian.Uint16(b[layer.ElementBytes*n:]))
		}
	}
	count := s.takeBytes(2)
	if count == nil {
		return false
	}
	body := sparseLane{s.takeBytes(int(binary.LittleEndian.Uint16(count)))}
	for k := range l.Taps {
		if body.takeBytes(1) == nil { // zero byte before the taps of an input channel
			return false
		}
		for n := 0; n < g; n++ {
			if n%8 == 0 {
				mask := body.takeBytes(1)
				if mask == nil {
					return false
				}
				for j := range min(8, g-n) {
					if mask[0]>>j&1 == 0 {
						continue
					}
					h := body.takeBytes(layer.ElementBytes)
					if h == nil {
						return false
					}
					v.weights[(first+n+j)*l.Taps+k] = float16.Frombits(binary.LittleEndian.Uint16(h))
				}
			}
		}
	}
	// A plane must use all bytes that it declares: only then is the reading of its masks right.
	return len(body.b) == 0 && s.takeBytes(max(0, g/2-2)) != nil
}
