package probe

import (
	"math"

	"github.com/x448/float16"

	"anesim/internal/datapath/mac"
)

// An arithmetic computes sums of products by rules of which one or more may deviate from the
// multiply-accumulate's (see package mac, which has the rules and their evidence). The zero value has no
// deviation, but does not model the loss of terms from 4096 on, by which an M1 differs from later
// chips: package mac has both forms.
type arithmetic struct {
	numbers bool // operands with exponent field 31 are numbers from 65536 on, as on M4 and M6

	limit     int       // added to the smallest sum of exponents whose product is not dropped
	keepsAll  bool      // no product is dropped
	byValue   bool      // products below 2^-16 are dropped, whatever their exponents
	denormals denormals // how denormal operands are read
	product   func(float64) float64
	result    func(float64) half
	overflow  overflow
	biasLast  bool // the bias is added to the sum in float32
}

type denormals uint8

const (
	keepDenormals denormals = iota
	normalizeDenormals
	flushDenormals
)

// An overflow says when a sum becomes infinite at 32768.
type overflow uint8

const (
	atEveryTerm overflow = iota
	atTheEnd             // partial sums have no limit
	ofTheResult          // the limit is that of the rounded result
	never
)

// units counts the steps in 1: terms are multiples of 2^-16.
const units = 1 << 16

// dot returns the sum as fp16.
func (a *arithmetic) dot(bias float32, x, w []half) half {
	first := bias
	if a.biasLast {
		first = 0
	}
	sum := a.sumInUnits(first, x, w) / units
	if a.biasLast {
		sum = float64(float32(sum) + bias)
	}
	const limit = 32768
	if a.overflow == atTheEnd && math.Abs(sum) >= limit {
		sum = math.Copysign(math.Inf(1), sum)
	}
	round := roundAway
	if a.result != nil {
		round = a.result
	}
	h := round(sum)
	if a.overflow == ofTheResult && math.Abs(toFloat64(h)) >= limit {
		h = toHalf(math.Copysign(math.Inf(1), sum))
	}
	return h
}

// sumInUnits returns the sum in units.
func (a *arithmetic) sumInUnits(bias float32, x, w []half) float64 {
	sum, overflowed := math.Round(float64(bias)*units), 0.0
	check := func() {
		if a.overflow == atEveryTerm && overflowed == 0 && math.Abs(sum) >= 32768*units {
			overflowed = math.Copysign(math.Inf(1), sum)
		}
	}
	check()
	for i := range x {
		u, eu := a.decodeOperand(x[i])
		v, ev := a.decodeOperand(w[i])
		p := u * v
		switch {
		case math.IsNaN(p): // 0 * inf
		// Infinite terms are summed apart from the finite ones, because units have no infinity.
		case math.IsInf(p, 0):
			overflowed += p
		case a.dropsProduct(p, eu+ev):
		case a.product != nil:
			sum += a.product(p * units)
		default:
			sum += math.Round(p * units)
		}
		check()
	}
	switch {
	case math.IsNaN(overflowed): // infinities of both signs
		return 0
	case overflowed != 0:
		return overflowed
	}
	return sum
}

func (a *arithmetic) dropsProduct(p float64, exponents int) bool {
	if a.byValue {
		return math.Abs(p)*units < 1
	}
	return !a.keepsAll && exponents < -16+a.limit
}

// decodeOperand returns the value and the exponent of an operand.
func (a *arithmetic) decodeOperand(h half) (v float64, exponent int) {
	const infinite, fraction = 0x7c00, 0x3ff
	switch v = toFloat64(h); {
	case h&infinite == infinite && a.numbers:
		v = 65536 * (1 + float64(h&fraction)/1024)
		if h&0x8000 != 0 {
			v = -v
		}
	case h&infinite == infinite && h&fraction != 0:
		v = math.Inf(1) // a NaN
	case h&infinite == 0 && a.denormals == flushDenormals:
		return 0, -14
	}
	if v == 0 || math.IsInf(v, 0) {
		return v, -14
	}
	exponent = math.Ilogb(v)
	if a.denormals != normalizeDenormals {
		exponent = max(exponent, -14)
	}
	return v, exponent
}

// roundAway returns v as fp16, ties away from zero.
func roundAway(v float64) half { return mac.RoundHalf(roundToOddFloat32(v)) }

// roundEven returns v as fp16, ties to even.
func roundEven(v float64) half {
	if v == 0 {
		return 0
	}
	return float16.Fromfloat32(roundToOddFloat32(v))
}

// roundToOddFloat32 returns v as float32 such that both round to the same fp16 number: if v is between
// two float32 numbers, it is the one with an odd last bit.
func roundToOddFloat32(v float64) float32 {
	f := float32(v)
	if float64(f) == v || math.IsInf(v, 0) || math.IsNaN(v) {
		return f
	}
	if math.Float32bits(f)&1 == 0 {
		if (float64(f) < v) == (v > 0) {
			return math.Float32frombits(math.Float32bits(f) + 1)
		}
		return math.Float32frombits(math.Float32bits(f) - 1)
	}
	return f
}

// sumExactly returns the sum without any rounding but that to float32 and that to fp16, ties to even, as a
// processor or GPU computes it. Its own order of additions makes a difference too small to matter here.
func sumExactly(bias float32, x, w []half) half {
	sum := float64(bias)
	for i := range x {
		sum += float64(toFloat64(x[i]) * toFloat64(w[i]))
	}
	return float16.Fromfloat32(float32(sum))
}

// sumInFP16 returns the sum if every product and every partial sum is rounded to fp16, ties to even, as a
// processor with fp16 instructions may compute it.
func sumInFP16(bias float32, x, w []half) half {
	sum := float64(bias)
	for i := range x {
		sum = toFloat64(roundEven(sum + toFloat64(roundEven(toFloat64(x[i])*toFloat64(w[i])))))
	}
	return toHalf(sum)
}

// sumInTiles returns the sum as this model computed it before published checksums contradicted it: exact
// products, tiles of four terms that are cut to 12 bits from the leading one of the larger operand when
// they are added, and a float32 sum of the tiles.
func sumInTiles(bias float32, x, w []half) half {
	total := float32(0)
	for i := 0; i < len(x); i += 4 {
		tile := toFloat64(x[i]) * toFloat64(w[i])
		for k := i + 1; k < min(i+4, len(x)); k++ {
			term := toFloat64(x[k]) * toFloat64(w[k])
			if larger := max(math.Abs(tile), math.Abs(term)); larger > 0 {
				step := math.Ldexp(1, math.Ilogb(larger)-11)
				tile = (math.Trunc(tile/step) + math.Trunc(term/step)) * step
			}
		}
		if total += float32(tile); total >= 32768 || total <= -32768 {
			total *= float32(math.Inf(1))
		}
	}
	h := float16.Fromfloat32(total + bias)
	if math.Abs(toFloat64(h)) >= 32768 {
		return toHalf(math.Copysign(math.Inf(1), toFloat64(h)))
	}
	return h
}

// convolveByWinograd returns the results of the 3x3 convolution as an M5 and an M6 compute it: by the
// Winograd transform F(2,3) along each row, which gives two results from four products instead of six.
// Inputs and weights are rounded to fp16, ties away, once they are transformed.
func convolveByWinograd(a *arithmetic) []half {
	x32, w64 := newImageData()
	x, w := toHalves(x32), toHalves(w64)
	at := func(c, row, column int) float64 {
		if row < 0 || row >= imageSize || column < 0 || column >= imageSize {
			return 0
		}
		return toFloat64(x[(c*imageSize+row)*imageSize+column])
	}
	// For each of the four products, the transformed operands of a sum over channels and kernel rows.
	const taps = imageChannels * 3
	kernels := make([][4][]half, imageOutputs)
	for o := range kernels {
		for t := range taps {
			k := w[(o*taps+t)*3:][:3]
			w0, w1, w2 := toFloat64(k[0]), toFloat64(k[1]), toFloat64(k[2])
			for i, v := range [4]float64{w0, (w0 + w1 + w2) / 2, (w0 - w1 + w2) / 2, w2} {
				kernels[o][i] = append(kernels[o][i], roundAway(v))
			}
		}
	}
	y := make([]half, imageOutputs*imageSize*imageSize)
	for row := range imageSize {
		for column := 0; column < imageSize; column += 2 {
			var tile [4][]half
			for c := range imageChannels {
				for dy := range 3 {
					r := row + dy - 1
					x0, x1, x2, x3 := at(c, r, column-1), at(c, r, column), at(c, r, column+1), at(c, r, column+2)
					for i, v := range [4]float64{x0 - x2, x1 + x2, x2 - x1, x1 - x3} {
						tile[i] = append(tile[i], roundAway(v))
					}
				}
			}
			for o := range imageOutputs {
				var m [4]float64
				for i := range m {
					m[i] = a.sumInUnits(0, tile[i], kernels[o][i])
				}
				to := y[(o*imageSize+row)*imageSize+column:]
				to[0] = roundAway(max(0, m[0]+m[1]+m[2]) / units)
				to[1] = roundAway(max(0, m[1]-m[2]-m[3]) / units)
			}
		}
	}
	return y
}
