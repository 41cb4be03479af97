package mac

import (
	"fmt"
	"math"

	"github.com/x448/float16"
)

const (
	// tileTaps is how many consecutive taps meet in one pass of the tile adder
	// (inferred from the probes of the tests).
	tileTaps = 4

	// alignBits is the width of the tile adder: with e the exponent of the larger
	// operand, both operands are cut to multiples of 2^(e-alignBits+1) (inferred:
	// 12 fits every probe, 11 and 13 do not).
	alignBits = 12
)

// Reduce computes len(acc) reductions over the same taps:
//
//	acc[l] = sum over k of panel[k*len(acc)+l] * taps[k]
//
// taken as the engine takes it: exact products, tiles of four consecutive taps
// through the 12-bit tile adder, tile sums joined in order to an fp32 accumulator
// that starts at +0. After every join a magnitude of port.Limit() or more becomes
// infinity. Operands are values that Widen yields; for others the result is
// unspecified. len(panel) must be len(acc)*len(taps).
func Reduce(acc, panel, taps []float32, port Port) {
	if len(panel) != len(acc)*len(taps) {
		panic(fmt.Sprintf("mac: Reduce: panel of %d values for %d taps of %d outputs", len(panel), len(taps), len(acc)))
	}
	reduceMany(acc, panel, taps, len(acc), len(taps), port)
}

// ReduceMany runs several tap vectors over one panel, which it reads once for a
// few of them. With K = len(panel)/lanes taps to a vector, vector m is
// taps[m*K:][:K] and its results are acc[m*lanes:][:lanes], each exactly as
// Reduce gives it. len(panel) must be a multiple of lanes, len(taps) of K, and
// len(acc) must be lanes times the number of vectors.
//
// Products commute, so either operand of a layer can be the panel; speed wants at
// least 16 lanes, best a multiple of 64, and a panel of at most half a megabyte.
func ReduceMany(acc, panel, taps []float32, lanes int, port Port) {
	if len(acc) == 0 {
		return
	}
	k := 0
	if lanes > 0 {
		k = len(panel) / lanes
	}
	if lanes <= 0 || len(panel) != k*lanes || len(acc)%lanes != 0 || len(taps) != len(acc)/lanes*k {
		panic(fmt.Sprintf("mac: ReduceMany: %d lanes do not divide a panel of %d values, %d taps and %d results", lanes, len(panel), len(taps), len(acc)))
	}
	reduceMany(acc, panel, taps, lanes, k, port)
}

func reduceMany(acc, panel, taps []float32, lanes, k int, port Port) {
	if len(acc) == 0 {
		return
	}
	if k == 0 {
		clear(acc)
		return
	}
	reduceAt(active, acc, panel, taps, lanes, k, port)
}

// ReduceRows is Reduce with a panel whose rows may overlap, as those of a window that
// slides over a plane do:
//
//	acc[l] = sum over k of plane[at[k]+l] * taps[k]
//
// Every at[k] must be at least 0 and at most len(plane)-len(acc). Speed wants at
// least 64 outputs.
func ReduceRows(acc, plane []float32, at []int, taps []float32, port Port) {
	if len(at) != len(taps) {
		panic(fmt.Sprintf("mac: ReduceRows: %d rows for %d taps", len(at), len(taps)))
	}
	for _, o := range at {
		if o < 0 || o > len(plane)-len(acc) {
			panic(fmt.Sprintf("mac: ReduceRows: row at %d of a plane of %d values for %d outputs", o, len(plane), len(acc)))
		}
	}
	if len(taps) == 0 {
		clear(acc)
		return
	}
	if len(acc) > 0 {
		reduceRowsAt(active, acc, plane, at, taps, port)
	}
}

// Dot is one output of a reduction of two or more taps: x and w, of equal length,
// through Widen, Reduce and the ceiling port.
func Dot(x, w []float16.Float16) float16.Float16 {
	if len(x) != len(w) {
		panic(fmt.Sprintf("mac: Dot: %d inputs and %d weights", len(x), len(w)))
	}
	var acc float32
	limit := PortCeiling.Limit()
	for k := 0; k < len(x); k += tileTaps {
		s := product(widen(x[k]), widen(w[k]))
		for i := k + 1; i < min(k+tileTaps, len(x)); i++ {
			s = addAligned(s, product(widen(x[i]), widen(w[i])))
		}
		acc = join(acc, s, limit)
	}
	return PortCeiling.Narrow(acc)
}

// reducePortable is the definition of the reduction. The outputs of one tap vector
// are independent; everything else is in the order written.
func reducePortable(acc, panel, taps []float32, lanes, k int, port Port) {
	for ; len(acc) > 0; acc, taps = acc[lanes:], taps[k:] {
		reduceColumns(acc[:lanes], panel, taps[:k], lanes, port.Limit())
	}
}

// reduceRowsPacked copies rows into panels.
func reduceRowsPacked(lv level, acc, plane []float32, at []int, taps []float32, port Port) {
	const width = 64
	panel := make([]float32, width*len(taps))
	for l := 0; l < len(acc); l += width {
		n := min(width, len(acc)-l)
		for i, o := range at {
			copy(panel[i*n:(i+1)*n], plane[o+l:])
		}
		reduceAt(lv, acc[l:l+n], panel[:n*len(taps)], taps, n, len(taps), port)
	}
}

// reduceColumns reduces the first len(acc) columns of a panel whose rows are stride
// values apart.
func reduceColumns(acc, panel, taps []float32, stride int, limit float32) {
	clear(acc)
	for len(taps) > 0 {
		// A tile at the end is only as long as its taps: absent lanes do not take
		// part (assumed; a zero in their place would cut a lone product to 12 bits).
		tile := taps[:min(tileTaps, len(taps))]
		taps = taps[len(tile):]
		for l := range acc {
			s := product(panel[l], tile[0])
			for i := 1; i < len(tile); i++ {
				s = addAligned(s, product(panel[i*stride+l], tile[i]))
			}
			acc[l] = join(acc[l], s, limit)
		}
		panel = panel[min(len(tile)*stride, len(panel)):]
	}
}

// product is an fp32 multiply in which 0 * inf is +0 (measured). Of two operands it
// is exact: fp16 values have 11 significant bits.
func product(x, w float32) float32 {
	p := float32(x * w)
	if p != p {
		return 0
	}
	return p
}

// addAligned is the tile adder: both operands are cut toward zero to multiples of
// 2^(e-11), e the larger exponent, and added exactly. That the cut is toward zero
// and not half to even is assumed; the probes do not tell. The first operand of a
// tile enters uncut, which only a tile of one tap can show (assumed).
//
// An infinite operand wins. That inf - inf is +0 is measured; that this already
// holds for lane sums inside a tile is assumed.
func addAligned(a, b float32) float32 {
	const field = 23 // lowest bit of the exponent
	const infinite = 0xff << field
	e := max(math.Float32bits(a)&infinite, math.Float32bits(b)&infinite)
	if e == infinite {
		return sum(a, b)
	}
	// In units of 2^(e-11) the cut is a conversion to integers. The powers of two
	// are made in the exponent field; for two zeros they are some finite numbers.
	unit := math.Float32frombits(e - (alignBits-1)<<field)
	perUnit := math.Float32frombits((127+127+alignBits-1)<<field&math.MaxUint32 - e)
	return float32(float32(int32(a*perUnit)+int32(b*perUnit)) * unit)
}

// join adds a tile's sum to the accumulator, an fp32 add rounded half to even (the
// class is measured, the exact width assumed), and applies the port's limit
// (measured: a partial sum beyond 2^15 is infinity even if later terms cancel it;
// that lane sums inside a tile escape the check is assumed).
func join(acc, tile, limit float32) float32 {
	acc = sum(acc, tile)
	if acc >= limit || acc <= -limit {
		acc *= float32(inf)
	}
	return acc
}

// sum is an fp32 add in which inf - inf is +0.
func sum(a, b float32) float32 {
	s := float32(a + b)
	if s != s {
		return 0
	}
	return s
}
