//go:build (amd64 || arm64) && !purego

package mac

import (
	"math"
	"slices"
)

const (
	// blockVectors is the number of vectors that a kernel multiplies with a strip of a panel at once.
	blockVectors = 4

	// blockTaps is the number of taps that all strips of a panel are multiplied with before the next
	// taps. Their weights, 16 KB, then stay in the first-level cache, and the rows of the panel in the
	// second-level one.
	blockTaps = 512

	// minStripLanes is the smallest number of lanes in a strip.
	minStripLanes = 16

	// rowLanes is the number of outputs of the kernels that take rows at any places.
	rowLanes = 64
)

// A block holds operands that a kernel multiplies at once: some vectors with a strip of a panel. The
// assembly reads it.
type block struct {
	acc    [blockVectors]*float32 // integer sums, in units
	taps   [blockVectors]*weight
	panel  *float32
	stride uintptr // bytes from a row of the panel to the next
	k      int     // number of taps, not 0
	flush  int     // number of taps after which fused sums are added to acc
}

// A rowBlock is like a block, for kernels that take rows: one vector with rowLanes outputs. The
// assembly reads it.
type rowBlock struct {
	acc   *float32 // integer sums, in units
	taps  *weight
	plane *float32
	at    *int // first operand of each row
	k     int  // number of taps, not 0
	flush int
}

// reduceAtLevel computes [Arithmetic.Reduce] with the kernels of level lv. Vectors that permit the same
// form are computed four at a time.
func (a Arithmetic) reduceAtLevel(lv level, acc, panel []float32, lanes int, taps *Taps, start *Start) {
	k := taps.k
	if lv == portable || k == 0 || lanes < minStripLanes {
		a.reducePanelPortable(acc, panel, lanes, taps, start)
		return
	}
	x := newExtremes(findExtremesAtLevel(lv, panel))
	var rows []float32          // the largest operand for each tap, once it is needed
	var late []int              // vectors whose sums the order may change
	var at []int                // room for the rows of a sparse vector
	var group [blockVectors]int // vectors that wait for the others of their block
	waiting, groupForm, groupFlush := 0, fused, k
	for m := range taps.vectors {
		v := &taps.vectors[m]
		sums := acc[m*lanes:][:lanes]
		f, flush := a.chooseForm(x, v, k, start.largestMagnitude(m))
		if f == ordered {
			if rows == nil {
				rows = findRowMaxima(lv, panel, k)
			}
			f, flush = a.chooseFormByRows(rows, taps.vectorWeights(m), start.largestMagnitude(m))
		}
		if f == ordered {
			late = append(late, m)
			continue
		}
		if len(v.rows) > 0 && lanes >= rowLanes {
			start.setSums(sums, m)
			at = reduceSparse(lv, sums, panel, lanes, v, f, flush, at)
			continue
		}
		// A block has the most careful form of its vectors.
		groupForm, groupFlush = min(groupForm, f), min(groupFlush, flush)
		group[waiting] = m
		if waiting++; waiting == blockVectors {
			reduceBlock(lv, acc, panel, lanes, taps, group[:], start, groupForm, groupFlush)
			waiting, groupForm, groupFlush = 0, fused, k
		}
	}
	if waiting > 0 {
		reduceBlock(lv, acc, panel, lanes, taps, group[:waiting], start, groupForm, groupFlush)
	}
	for vectors := range slices.Chunk(late, blockVectors) {
		reduceBlock(lv, acc, panel, lanes, taps, vectors, start, converted, k)
		for _, m := range vectors {
			a.recomputeInOrder(acc[m*lanes:][:lanes], panel, lanes, taps, m, start)
		}
	}
}

// findRowMaxima returns the largest magnitude of an operand in each of the k rows of a panel.
func findRowMaxima(lv level, panel []float32, k int) []float32 {
	rows := make([]float32, k)
	lanes := len(panel) / k
	for i := range rows {
		largest, _ := findExtremesAtLevel(lv, panel[i*lanes:][:lanes])
		rows[i] = math.Float32frombits(largest)
	}
	return rows
}

// reduceBlock computes the sums of up to blockVectors vectors with the given form.
func reduceBlock(lv level, acc, panel []float32, lanes int, taps *Taps, vectors []int, start *Start, f form, flush int) {
	whole := lanes - lanes%minStripLanes
	for _, m := range vectors {
		sums := acc[m*lanes:][:lanes]
		start.setSums(sums[:whole], m)
		// The columns that fill no strip are left to portable code: callers that want speed fill strips.
		if whole < lanes {
			rest := start.skipLanes(whole)
			reduceUnordered(sums[whole:], panel[whole:], lanes, taps, m, &rest)
		}
	}
	var spare [blockVectors * maxStripLanes]float32 // sums of absent vectors
	for first := 0; first < taps.k; first += blockTaps {
		b := block{stride: uintptr(lanes) * 4, k: min(blockTaps, taps.k-first), flush: flush}
		for i := range b.taps {
			b.taps[i] = &taps.vectorWeights(vectors[min(i, len(vectors)-1)])[first]
		}
		for l, width := 0, 0; l < whole; l += width {
			width = stripLanes(lv, whole-l)
			for i := range b.acc {
				if i < len(vectors) {
					b.acc[i] = &acc[vectors[i]*lanes+l]
				} else {
					b.acc[i] = &spare[i*width]
				}
			}
			b.panel = &panel[first*lanes+l]
			addBlock(&b, width, f)
		}
	}
	for _, m := range vectors {
		finishAtLevel(lv, acc[m*lanes:][:whole])
	}
}

// reduceSparse computes the sums of a single vector with many zeros and at least rowLanes lanes. It
// returns the slice room, extended if that was necessary, for the next vector.
func reduceSparse(lv level, acc, panel []float32, lanes int, v *vector, f form, flush int, room []int) []int {
	at := room[:0]
	for _, row := range v.rows {
		at = append(at, row*lanes)
	}
	addRows(lv, acc, panel, at, v.nonzero, f, flush)
	finishAtLevel(lv, acc)
	return at
}

// addRows adds the products of the taps and the rows that start at the elements at of plane to the
// integer sums acc, of which there are at least rowLanes.
func addRows(lv level, acc, plane []float32, at []int, taps []weight, f form, flush int) {
	l := 0
	for ; l+rowLanes <= len(acc); l += rowLanes {
		addRowBlock(lv, &rowBlock{&acc[l], &taps[0], &plane[l], &at[0], len(at), flush}, f)
	}
	if l == len(acc) {
		return
	}
	// The last block overlaps the one before, whose sums are kept.
	var last [rowLanes]float32
	from := len(acc) - rowLanes
	copy(last[l-from:], acc[l:])
	addRowBlock(lv, &rowBlock{&last[0], &taps[0], &plane[from], &at[0], len(at), flush}, f)
	copy(acc[l:], last[l-from:])
}

// reduceRowsAtLevel computes [Arithmetic.ReduceRows] with the kernels of level lv.
func (a Arithmetic) reduceRowsAtLevel(lv level, acc, plane []float32, at []int, taps *Taps, start float32) {
	v := &taps.vectors[0]
	if lv == portable || len(acc) < rowLanes || taps.k == 0 {
		a.reduceRowsPacked(lv, acc, plane, at, taps, start)
		return
	}
	f, flush := a.chooseForm(newExtremes(findExtremesAtLevel(lv, plane)), v, taps.k, max(start, -start))
	if f == ordered {
		a.reduceRowsPacked(lv, acc, plane, at, taps, start)
		return
	}
	(&Start{PerVector: []float32{start}}).setSums(acc, 0)
	addRows(lv, acc, plane, at, taps.vectorWeights(0), f, flush)
	finishAtLevel(lv, acc)
}

// finishPortable converts integer sums to fp32, as roundToOdd does.
func finishPortable(acc []float32) {
	for i, v := range acc {
		acc[i] = roundToOdd(int64(int32(math.Float32bits(v))))
	}
}
