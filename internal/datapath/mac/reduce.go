package mac

import (
	"fmt"
	"math"
)

// Reduce computes the sums of products of a panel of operands with each vector of taps:
//
//	acc[m*lanes+l] = start(m, l) + sum over k of panel[k*lanes+l] * taps[m][k]
//
// It computes them as the engine does; rule.go has the definition. Sums come out in fp32, rounded to
// odd where they have more than 24 bits, so that [Post.Apply] rounds them to fp16 as it would the
// exact sums. Operands must be values that [Arithmetic.Widen] yields.
//
// Reduce panics unless the panel has lanes values for each tap, acc has lanes results for each vector,
// and start has as many values as there are vectors or lanes. It is fastest if lanes is a multiple of
// 64; columns beyond a multiple of 16 are slow. The panel should have at most half a megabyte.
func (a Arithmetic) Reduce(acc, panel []float32, lanes int, taps *Taps, start Start) {
	vectors := len(taps.vectors)
	if lanes < 0 || len(panel) != lanes*taps.k || len(acc) != lanes*vectors || !start.hasValuesFor(vectors, lanes) {
		panic(formatLengthError("Reduce", "%d lanes do not match a panel of %d values, %d vectors of %d taps, %d results and %d start values",
			lanes, len(panel), vectors, taps.k, len(acc), max(len(start.PerVector), len(start.PerLane))))
	}
	if len(acc) > 0 {
		a.reduceAtLevel(active, acc, panel, lanes, taps, &start)
	}
}

// A Start gives the values at which sums start, such as biases. Sums of the zero Start start at 0. At
// most one of the slices may be set.
type Start struct {
	PerVector []float32 // one for all lanes of each vector
	PerLane   []float32 // one for each lane of all vectors
}

// hasValuesFor reports whether s has values for the given numbers of vectors and lanes.
func (s *Start) hasValuesFor(vectors, lanes int) bool {
	switch {
	case s.PerVector != nil && s.PerLane != nil:
		return false
	case s.PerVector != nil:
		return len(s.PerVector) == vectors
	}
	return s.PerLane == nil || len(s.PerLane) == lanes
}

// startValue returns the value at which the sum of vector m in lane l starts.
func (s *Start) startValue(m, l int) float32 {
	switch {
	case s.PerVector != nil:
		return s.PerVector[m]
	case s.PerLane != nil:
		return s.PerLane[l]
	}
	return 0
}

// largestMagnitude returns the largest magnitude of a value at which a sum of vector m starts.
func (s *Start) largestMagnitude(m int) float32 {
	if s.PerLane == nil {
		v := s.startValue(m, 0)
		return max(v, -v)
	}
	largest := float32(0)
	for _, v := range s.PerLane {
		largest = max(largest, v, -v)
	}
	return largest
}

// setSums sets acc to the values at which the sums of the first lanes of vector m start, as integers in
// units.
func (s *Start) setSums(acc []float32, m int) {
	n := 1 // number of different values
	if s.PerLane != nil {
		n = len(acc)
	}
	for l := range acc[:n] {
		acc[l] = math.Float32frombits(uint32(int32(roundAway(float64(s.startValue(m, l)) * (1 << fraction)))))
	}
	for ; n < len(acc); n *= 2 {
		copy(acc[n:], acc[:n])
	}
}

// skipLanes returns the start values of the lanes from l on.
func (s *Start) skipLanes(l int) Start {
	if s.PerLane == nil {
		return *s
	}
	return Start{PerLane: s.PerLane[l:]}
}

// ReduceRows computes len(acc) sums like [Arithmetic.Reduce] with the first vector of taps, but the
// rows of operands may overlap, as they do for a window that slides over a plane:
//
//	acc[l] = start + sum over k of plane[at[k]+l] * taps[0][k]
//
// ReduceRows panics unless at has an element for each tap, and every at[k] is at least 0 and at most
// len(plane)-len(acc). It is fastest with at least 64 outputs.
func (a Arithmetic) ReduceRows(acc, plane []float32, at []int, taps *Taps, start float32) {
	if len(at) != taps.k || len(taps.vectors) == 0 {
		panic(formatLengthError("ReduceRows", "found %d rows for %d vectors of %d taps; want equal numbers and one vector", len(at), len(taps.vectors), taps.k))
	}
	for _, o := range at {
		if o < 0 || o > len(plane)-len(acc) {
			panic(formatLengthError("ReduceRows", "row of %d values at %d is outside the plane of %d values", len(acc), o, len(plane)))
		}
	}
	if len(acc) > 0 {
		a.reduceRowsAtLevel(active, acc, plane, at, taps, start)
	}
}

// formatLengthError returns the text of a panic about slices that do not fit together.
func formatLengthError(function, format string, values ...any) string {
	return "mac: " + function + ": " + fmt.Sprintf(format, values...)
}

// A form is a way to compute the sums of a block. All forms that a block permits give the same bits.
type form uint8

const (
	// ordered follows the definition term by term. Only sums that could reach the limit, or terms that
	// CoarseSums could affect, need it: all others are the same in any order.
	ordered form = iota

	// converted rounds every product to an integer by itself.
	converted

	// masked and fused add the products to the fp32 number 1.5 * 2^23, whose last place is one unit and
	// stays one while they change it by less than 2^22. This rounds them. After some taps the low bits
	// are added to the integer sums. fused assumes that no product is dropped.
	masked
	fused
)

// extremes holds bounds of the operands in a panel.
type extremes struct {
	largest  float32 // magnitude
	exponent int     // smallest of an operand that is not zero
}

// findExtremesPortable returns the bounds of the operands in panel.
func findExtremesPortable(panel []float32) (largest, smallest uint32) {
	smallest = math.MaxUint32
	for _, x := range panel {
		abs := math.Float32bits(x) &^ (1 << 31)
		largest = max(largest, abs)
		smallest = min(smallest, abs-1) // a zero becomes the largest number
	}
	return largest, smallest
}

// newExtremes converts the result of findExtremesPortable.
func newExtremes(largest, smallest uint32) extremes {
	return extremes{math.Float32frombits(largest), exponent(math.Float32frombits(smallest + 1))}
}

// chooseForm returns the fastest form for vector v of k weights and operands x, if sums start at magnitudes
// up to start, and the number of taps after which masked and fused have to add to the integer sums.
func (a Arithmetic) chooseForm(x extremes, v *vector, k int, start float32) (f form, flush int) {
	// The sum of magnitudes bounds every partial sum, in any order. Rounding moves each of the k terms
	// by at most half a unit, and the start value too. The factor covers the rounding of v.sum, each of
	// whose k additions in fp32 is off by at most 2^-24 of the sum.
	bound := (float64(v.sum)*float64(x.largest)*(1+float64(k)*0x1p-23) + float64(start)) * (1 << fraction)
	product := float64(v.largest) * float64(x.largest) * (1 << fraction)
	switch {
	case !(bound+float64(k)+1 < limitUnits): // also if an operand is infinite
		return ordered, 0
	case a.CoarseSums && groupTaps*(product+1) >= coarseUnits:
		return ordered, 0
	case product >= fusedProduct:
		return converted, k
	}
	flush = int(min(float64(k), fusedUnits/(product+1)))
	if x.exponent+v.exponent >= minExponentSum {
		return fused, flush
	}
	return masked, flush
}

// chooseFormByRows does the same as chooseForm with a bound for each row of the panel. A network's largest
// operands often are all in a few channels, and then this finds that no sum reaches the limit. It returns
// ordered or converted.
func (a Arithmetic) chooseFormByRows(rows []float32, taps []weight, start float32) (f form, flush int) {
	bound, group := float64(start)*(1<<fraction)+1, 0.0
	for i, w := range taps {
		product := math.Abs(float64(w.inUnits()))*float64(rows[i]) + 1
		bound += product
		if i%groupTaps == 0 {
			group = 0
		}
		group += product
		if a.CoarseSums && !(group < coarseUnits) {
			return ordered, 0
		}
	}
	if !(bound < limitUnits) {
		return ordered, 0
	}
	return converted, len(taps)
}

const (
	// fusedProduct bounds the products of masked and fused, 32 in units: see weight.
	fusedProduct = 1 << 21

	// fusedUnits bounds the sum of their magnitudes. It is a bit less than 2^22, because products are
	// moved away from zero.
	fusedUnits = 1<<22 - 1<<6
)

// reduceOrdered computes acc[l], for each l, from column l of a panel whose rows are stride values
// apart, in the order of the taps.
func (a Arithmetic) reduceOrdered(acc, panel []float32, stride int, taps *Taps, m int, start *Start) {
	var sum accumulator
	for l := range acc {
		sum.setBias(start.startValue(m, l), a)
		for i, w := range taps.vectorWeights(m) {
			x, plain := panel[i*stride+l], w.inUnits()
			if p := x * plain; p-p != 0 {
				sum.addInfinite(p, a)
			} else {
				sum.addTerm(convertProduct(x, plain, w.below), a)
			}
		}
		acc[l] = sum.roundedSum()
	}
}

// recomputeInOrder computes again, in the order of the taps, the sums of vector m that may be others in that
// order. Few columns of most panels with large operands need it.
func (a Arithmetic) recomputeInOrder(acc, panel []float32, stride int, taps *Taps, m int, start *Start) {
	weights := taps.vectorWeights(m)
	var bounds [64]float32 // of the sums of magnitudes of 64 columns, in units
	for l := 0; l < len(acc); l += len(bounds) {
		columns := bounds[:min(len(acc)-l, len(bounds))]
		for j := range columns {
			// Rounding moves the start value and each term by at most half a unit.
			columns[j] = absFloat32(start.startValue(m, l+j))*(1<<fraction) + float32(len(weights)) + 1
		}
		for i := 0; i < len(weights); i += groupTaps {
			a.addGroupBounds(columns, panel[i*stride+l:], stride, weights[i:min(i+groupTaps, len(weights))])
		}
		slack := 1 + float32(len(weights)+4)*0x1p-23 // for the rounding of bounds
		for j, bound := range columns {
			if !(bound*slack < limitUnits) { // also if it is NaN
				at := start.skipLanes(l + j)
				a.reduceOrdered(acc[l+j:][:1], panel[l+j:], stride, taps, m, &at)
			}
		}
	}
}

// addGroupBounds adds the magnitudes of the products of a group of weights with each column of a panel to
// bounds. A bound becomes infinite if CoarseSums may affect the group.
func (a Arithmetic) addGroupBounds(bounds, panel []float32, stride int, group []weight) {
	limit := float32(inf)
	if a.CoarseSums {
		limit = coarseUnits - 1<<10 // more than rounding adds
	}
	var w [groupTaps]float32 // 0 for absent taps
	var rows [groupTaps][]float32
	for i := range rows {
		rows[i] = panel[:len(bounds)]
		if i < len(group) {
			w[i], rows[i] = absFloat32(group[i].scaled), panel[i*stride:][:len(bounds)]
		}
	}
	r0, r1, r2, r3 := rows[0], rows[1][:len(rows[0])], rows[2][:len(rows[0])], rows[3][:len(rows[0])]
	for j := range bounds[:len(r0)] {
		sum := w[0]*absFloat32(r0[j]) + w[1]*absFloat32(r1[j]) + w[2]*absFloat32(r2[j]) + w[3]*absFloat32(r3[j])
		if !(sum < limit) {
			sum = float32(inf)
		}
		bounds[j] += sum
	}
}

// absFloat32 returns the magnitude of v.
func absFloat32(v float32) float32 { return math.Float32frombits(math.Float32bits(v) &^ (1 << 31)) }

// reduceUnordered computes the same as reduceOrdered, for sums that are the same in any order.
func reduceUnordered(acc, panel []float32, stride int, taps *Taps, m int, start *Start) {
	var room [64]int32
	for l := 0; l < len(acc); l += len(room) {
		sums := room[:min(len(acc)-l, len(room))]
		for i := range sums {
			sums[i] = int32(roundAway(float64(start.startValue(m, l+i)) * (1 << fraction)))
		}
		for i, w := range taps.vectorWeights(m) {
			plain := w.inUnits()
			if plain == 0 {
				continue
			}
			for i, x := range panel[i*stride+l:][:len(sums)] {
				sums[i] += int32(convertProduct(x, plain, w.below))
			}
		}
		for i, v := range sums {
			acc[l+i] = roundToOdd(int64(v))
		}
	}
}

// convertProduct returns roundProduct(x, w) for plain = w*2^16. The product must be finite.
func convertProduct(x, plain float32, below int32) int64 {
	if int32(math.Float32bits(x)&^(1<<31)) <= below {
		return 0
	}
	// The sum is exact: a product of 2^23 or more has no bits to the right of an even last place.
	p := float32(x * plain)
	half := math.Float32frombits(math.Float32bits(p)&(1<<31) | math.Float32bits(0.5))
	return int64(p + half)
}

// reducePanelPortable computes [Arithmetic.Reduce] without assembly.
func (a Arithmetic) reducePanelPortable(acc, panel []float32, lanes int, taps *Taps, start *Start) {
	x := newExtremes(findExtremesPortable(panel))
	for m := range taps.vectors {
		sums := acc[m*lanes:][:lanes]
		reduceUnordered(sums, panel, lanes, taps, m, start)
		if f, _ := a.chooseForm(x, &taps.vectors[m], taps.k, start.largestMagnitude(m)); f == ordered {
			a.recomputeInOrder(sums, panel, lanes, taps, m, start)
		}
	}
}

// gatherRows sets panel to the rows of lanes operands that start at the elements at of plane.
func gatherRows(panel, plane []float32, at []int, lanes int) {
	for i, o := range at {
		copy(panel[i*lanes:][:lanes], plane[o:])
	}
}

// reduceRowsPacked computes [Arithmetic.ReduceRows] by copying the rows to panels.
func (a Arithmetic) reduceRowsPacked(lv level, acc, plane []float32, at []int, taps *Taps, start float32) {
	const width = 64
	panel := make([]float32, width*len(at))
	first := Taps{taps.k, taps.vectorWeights(0), taps.vectors[:1]}
	for l := 0; l < len(acc); l += width {
		n := min(width, len(acc)-l)
		gatherRows(panel, plane[l:], at, n)
		a.reduceAtLevel(lv, acc[l:l+n], panel[:n*len(at)], n, &first, &Start{PerVector: []float32{start}})
	}
}
