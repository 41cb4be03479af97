package l2

import "anesim/hw/clock"

// Params describes the geometry of L2, the engine's on-chip memory.
type Params struct {
	Bytes   int
	Banks   int
	Granule int // bytes that a bank transfers per cycle
}

// conflictDepth returns the number of cycles needed to read one granule from each of several rows
// that are stride bytes apart. Rows in the same bank are read one after the other, so the result is
// ceil(rows / (banks/g)) with g = gcd(stride/granule, banks). This rule was read from the vendor's
// code.
func (p Params) conflictDepth(rows int, stride uint32) int {
	if rows <= 1 {
		return rows
	}
	step := int(stride) / p.Granule
	g := gcd(step%p.Banks, p.Banks) // gcd(0, Banks) is Banks
	return clock.CeilDiv(rows, p.Banks/g)
}

// gcd returns the greatest common divisor of a and b.
func gcd(a, b int) int {
	for a != 0 {
		a, b = b%a, a
	}
	return b
}

// Traffic counts the bytes that the engines read from and write to L2. A byte that several engines
// receive at once counts once.
type Traffic struct{ Read, Written uint64 }

// A Patch is a rectangle of pixels in L2: Rows rows of Width elements. The rows start Stride bytes
// apart.
type Patch struct {
	Rows, Width int
	Stride      uint32
}

// A Window is the rectangle of source pixels of one channel that the MAC array needs for one patch
// of results.
type Window struct {
	Patch
	Columns int // width of the patch of results, a power of two
	Step    int // rows of the window from one row of results to the next
}

// fetchGranules is the number of granules in one fetch of the array: 128 bytes, one granule from
// each of eight banks. Apple's compiler skews rows so that the rows of one fetch use different
// banks, and does not skew rows that fill a fetch. (This is inferred from the row strides of its
// programs, which follow the rule in 303 of 317 tasks.)
const fetchGranules = 8

// fetchDepth returns the number of cycles of one fetch. Rows in the same bank are read one after
// the other, so it is the number of rows of the fetch that share the bank of the first one. Each
// row is the given number of granules wide, and rows are stride bytes apart.
func (p Params) fetchDepth(rows, granules int, stride int) int {
	depth, at := 1, 0
	step := stride / p.Granule % p.Banks
	for range rows - 1 {
		if at += step; at >= p.Banks {
			at -= p.Banks
		}
		if min(at, p.Banks-at) < granules {
			depth++
		}
	}
	return depth
}

// Cycles returns the number of cycles needed to read one channel of window w. A channel that all engines
// receive comes by one fetch a cycle, so that engines with fewer than four output channels wait for the
// pixels of a full patch: 208 descriptors of one channel an engine take 128 bytes of source a cycle (rows
// r0180, n02 and n03, at three clocks). Channels of a unicast task, each for one engine, come from all banks
// at once. A fetch takes longer if rows of it are in the same bank.
//
// A fetch reads rows that are w.Step rows apart, for consecutive rows of results. From each row it
// reads as many granules as w.Columns pixels fill and one more for the overlap with the next patch.
func (p Params) Cycles(w Window, unicast bool) int {
	if w.Rows == 0 || w.Width == 0 {
		return 0
	}
	granules := clock.CeilDiv(2*w.Width, p.Granule)
	spread := clock.CeilDiv(2*w.Rows*w.Width, min(p.Banks, fetchGranules)*p.Granule)
	if unicast {
		spread = clock.CeilDiv(w.Rows*granules, p.Banks)
	}
	units := max(1, 2*w.Columns/p.Granule)
	rows := min(w.Rows, max(1, fetchGranules/units))
	depth := p.fetchDepth(rows, min(granules, units+1), int(w.Stride)*max(1, w.Step))
	if depth == 1 {
		return spread
	}
	return max(spread, clock.CeilDiv(w.Rows, rows)*depth)
}

// WritebackCycles returns the number of cycles needed to write a patch t of results for the given
// number of channels. Each bank accepts one granule per cycle, and every row starts a new granule.
// Rows in the same bank are written one after the other. If t.Stride is 0, the results are written
// as one piece, without such conflicts.
func (p Params) WritebackCycles(channels int, t Patch) clock.Cycles {
	granules := channels * t.Rows * clock.CeilDiv(2*t.Width, p.Granule)
	if t.Stride != 0 && t.Rows > 1 {
		granules *= p.conflictDepth(t.Rows, t.Stride)
		granules = clock.CeilDiv(granules, clock.CeilDiv(t.Rows, p.Banks))
	}
	return clock.Cycles(clock.CeilDiv(granules, p.Banks))
}
