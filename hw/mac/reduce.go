package mac

import (
	"fmt"
	"math"

	"github.com/x448/float16"
)

const (
	// tileTaps is the number of consecutive taps in one pass of the tile adder (inferred from the
	// probes in the tests).
	tileTaps = 4

	// alignBits is the width of the tile adder. With e the exponent of the larger operand, both
	// operands are truncated to multiples of 2^(e-alignBits+1) (inferred: 12 fits every probe, 11
	// and 13 do not).
	alignBits = 12
)

// Reduce computes len(acc) reductions over the same taps:
//
//	acc[l] = sum over k of panel[k*len(acc)+l] * taps[k]
//
// It computes them as the engine does: exact products, tiles of four consecutive taps in the 12-bit
// tile adder, and the sums of the tiles added in order to an fp32 accumulator that starts at +0.
// After every such addition a magnitude of port.Limit() or more becomes infinity. Operands must be
// values that Widen yields; for others the result is unspecified. Reduce panics if len(panel) is
// not len(acc)*len(taps).
func Reduce(acc, panel, taps []float32, port Port) {
	if len(panel) != len(acc)*len(taps) {
		panic(fmt.Sprintf("mac: Reduce: found a panel of %d values; want %d taps times %d outputs", len(panel), len(taps), len(acc)))
	}
	reduceMany(acc, panel, taps, len(acc), len(taps), port)
}

// ReduceMany reduces one panel with several vectors of taps. The panel has K = len(panel)/lanes
// rows of lanes values. For each m, acc[m*lanes:][:lanes] becomes what [Reduce] computes from the
// panel and taps[m*K:][:K]. ReduceMany panics unless lanes divides len(panel), K divides len(taps),
// and len(acc) is lanes times the number of vectors.
//
// Multiplication commutes, so either operand of a layer can be the panel. ReduceMany is fastest if
// lanes is at least 16, best a multiple of 64, and the panel has at most half a megabyte.
func ReduceMany(acc, panel, taps []float32, lanes int, port Port) {
	if len(acc) == 0 {
		return
	}
	k := 0
	if lanes > 0 {
		k = len(panel) / lanes
	}
	if lanes <= 0 || len(panel) != k*lanes || len(acc)%lanes != 0 || len(taps) != len(acc)/lanes*k {
		panic(fmt.Sprintf("mac: ReduceMany: %d lanes do not match a panel of %d values, %d taps and %d results", lanes, len(panel), len(taps), len(acc)))
	}
	reduceMany(acc, panel, taps, lanes, k, port)
}

// reduceMany computes [ReduceMany] without checking the lengths, for k taps per vector.
func reduceMany(acc, panel, taps []float32, lanes, k int, port Port) {
	if len(acc) == 0 {
		return
	}
	if k == 0 {
		clear(acc)
		return
	}
	reduceAtLevel(active, acc, panel, taps, lanes, k, port)
}

// ReduceRows computes len(acc) reductions like [Reduce], but the rows of operands may overlap, as
// they do for a window that slides over a plane:
//
//	acc[l] = sum over k of plane[at[k]+l] * taps[k]
//
// ReduceRows panics unless len(at) is len(taps) and every at[k] is at least 0 and at most
// len(plane)-len(acc). It is fastest with at least 64 outputs.
func ReduceRows(acc, plane []float32, at []int, taps []float32, port Port) {
	if len(at) != len(taps) {
		panic(fmt.Sprintf("mac: ReduceRows: found %d rows for %d taps; want equal numbers", len(at), len(taps)))
	}
	for _, o := range at {
		if o < 0 || o > len(plane)-len(acc) {
			panic(fmt.Sprintf("mac: ReduceRows: row of %[3]d values at %[1]d is outside the plane of %[2]d values", o, len(plane), len(acc)))
		}
	}
	if len(taps) == 0 {
		clear(acc)
		return
	}
	if len(acc) > 0 {
		reduceRowsAtLevel(active, acc, plane, at, taps, port)
	}
}

// Dot returns the sum of x[i]*w[i] as the engine computes it for a reduction of two or more taps:
// operands converted by [Widen], summed by [Reduce] and narrowed by [PortCeiling]. It panics if x
// and w differ in length.
func Dot(x, w []float16.Float16) float16.Float16 {
	if len(x) != len(w) {
		panic(fmt.Sprintf("mac: Dot: found %d inputs and %d weights; want equal numbers", len(x), len(w)))
	}
	var acc float32
	limit := PortCeiling.Limit()
	for k := 0; k < len(x); k += tileTaps {
		s := multiplyWithoutNaN(widenHalf(x[k]), widenHalf(w[k]))
		for i := k + 1; i < min(k+tileTaps, len(x)); i++ {
			s = addAligned(s, multiplyWithoutNaN(widenHalf(x[i]), widenHalf(w[i])))
		}
		acc = accumulate(acc, s, limit)
	}
	return PortCeiling.Narrow(acc)
}

// reducePortable defines the results of the reduction. The outputs of one tap vector are
// independent; all other operations happen in the order written.
func reducePortable(acc, panel, taps []float32, lanes, k int, port Port) {
	for ; len(acc) > 0; acc, taps = acc[lanes:], taps[k:] {
		reduceColumns(acc[:lanes], panel, taps[:k], lanes, port.Limit())
	}
}

// reduceRowsPacked computes [ReduceRows] with the loops for panels of level lv: it copies the rows
// to panels and reduces these.
func reduceRowsPacked(lv level, acc, plane []float32, at []int, taps []float32, port Port) {
	const width = 64
	panel := make([]float32, width*len(taps))
	for l := 0; l < len(acc); l += width {
		n := min(width, len(acc)-l)
		for i, o := range at {
			copy(panel[i*n:(i+1)*n], plane[o+l:])
		}
		reduceAtLevel(lv, acc[l:l+n], panel[:n*len(taps)], taps, n, len(taps), port)
	}
}

// reduceColumns reduces the first len(acc) columns of a panel whose rows are stride values apart.
func reduceColumns(acc, panel, taps []float32, stride int, limit float32) {
	clear(acc)
	for len(taps) > 0 {
		// The last tile is only as long as its taps. Absent taps do not take part (assumed: a zero
		// in their place would truncate a single product to 12 bits).
		tile := taps[:min(tileTaps, len(taps))]
		taps = taps[len(tile):]
		for l := range acc {
			s := multiplyWithoutNaN(panel[l], tile[0])
			for i := 1; i < len(tile); i++ {
				s = addAligned(s, multiplyWithoutNaN(panel[i*stride+l], tile[i]))
			}
			acc[l] = accumulate(acc[l], s, limit)
		}
		panel = panel[min(len(tile)*stride, len(panel)):]
	}
}

// multiplyWithoutNaN returns x*w in fp32, except that 0 * inf is +0 (measured). The product of two
// operands is exact, because fp16 values have 11 significant bits.
func multiplyWithoutNaN(x, w float32) float32 {
	p := float32(x * w)
	if p != p {
		return 0
	}
	return p
}

// addAligned models the tile adder: it truncates both operands toward zero to multiples of
// 2^(e-11), where e is the larger exponent, and adds them exactly. That truncation is toward zero
// and not half to even is assumed; the probes do not show it. The first operand of a tile is not
// truncated before it is added, which makes a difference only in a tile of one tap (assumed).
//
// If an operand is infinite, the result is too. That inf - inf is +0 is measured; that this also
// holds for sums inside a tile is assumed.
func addAligned(a, b float32) float32 {
	const field = 23 // lowest bit of the exponent
	const infinite = 0xff << field
	e := max(math.Float32bits(a)&infinite, math.Float32bits(b)&infinite)
	if e == infinite {
		return addWithoutNaN(a, b)
	}
	// In units of 2^(e-11) the truncation is a conversion to integers. The powers of two are built
	// in the exponent field. For two zeros they are arbitrary finite numbers.
	unit := math.Float32frombits(e - (alignBits-1)<<field)
	perUnit := math.Float32frombits((127+127+alignBits-1)<<field&math.MaxUint32 - e)
	return float32(float32(int32(a*perUnit)+int32(b*perUnit)) * unit)
}

// accumulate adds the sum of a tile to the accumulator and applies the port's limit. It is an fp32
// addition that rounds half to even (the kind of rounding is measured, the exact width assumed). A
// partial sum beyond 2^15 is infinity even if later terms cancel it (measured). That sums inside a
// tile are not checked is assumed.
func accumulate(acc, tile, limit float32) float32 {
	acc = addWithoutNaN(acc, tile)
	if acc >= limit || acc <= -limit {
		acc *= float32(inf)
	}
	return acc
}

// addWithoutNaN returns a+b in fp32, except that inf - inf is +0.
func addWithoutNaN(a, b float32) float32 {
	s := float32(a + b)
	if s != s {
		return 0
	}
	return s
}
