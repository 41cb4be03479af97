package mac

import (
	"encoding/binary"
	"math"

	"github.com/x448/float16"
)

// packPalette is the inverse of UnpackPalette. The codebook lists the values of w
// in order of their first use; more than 2^bits distinct ones are an error.
func packPalette(w []float16.Float16, bits int) (codebook []float16.Float16, indices []byte, err error) {
	if bits != 4 && bits != 8 {
		return nil, nil, &FormatError{"palette", 0, "index width is not 4 or 8 bits", bits}
	}
	indices = make([]byte, (len(w)*bits+7)/8)
	index := make(map[float16.Float16]int)
	for i, h := range w {
		n, ok := index[h]
		if !ok {
			if n = len(codebook); n == 1<<bits {
				return nil, nil, &FormatError{"palette", 2 * i, "more values than indices", n + 1}
			}
			index[h] = n
			codebook = append(codebook, h)
		}
		if bits == 4 {
			indices[i/2] |= byte(n << (i % 2 * 4))
		} else {
			indices[i] = byte(n)
		}
	}
	return codebook, indices, nil
}

// packSparse is the inverse of UnpackSparse. Only +0 is left out; -0 is a value.
func packSparse(w []float16.Float16) []byte {
	out := make([]byte, (len(w)+7)/8)
	for i, h := range w {
		if h != 0 {
			out[i/8] |= 1 << (i % 8)
			out = binary.LittleEndian.AppendUint16(out, uint16(h))
		}
	}
	return out
}

// packInt8 is the nearest UnpackInt8 can come to w, channels rows of finite fp16 values:
// the scale of a row is its largest magnitude over 127, and values round half to
// even within [-127,127].
func packInt8(w []float16.Float16, channels int) (q []byte, scale []float16.Float16, err error) {
	if len(w) == 0 && channels == 0 {
		return nil, nil, nil
	}
	if channels <= 0 || len(w)%channels != 0 {
		return nil, nil, &FormatError{"int8", 0, "number of values is not a multiple of the channels", channels}
	}
	q, scale = make([]byte, len(w)), make([]float16.Float16, channels)
	row := len(w) / channels
	for c := range scale {
		values := w[c*row:][:row]
		var top float64
		for i, h := range values {
			if !h.IsFinite() {
				return nil, nil, &FormatError{"int8", 2 * (c*row + i), "not finite", h}
			}
			top = max(top, math.Abs(float64(h.Float32())))
		}
		scale[c] = Round(top/127, NearestEven)
		if scale[c] == 0 {
			continue
		}
		s := float64(scale[c].Float32())
		for i, h := range values {
			n := math.RoundToEven(float64(h.Float32()) / s)
			q[c*row+i] = byte(int8(max(-127, min(127, n))))
		}
	}
	return q, scale, nil
}
