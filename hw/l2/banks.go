package l2

import (
	"math/bits"

	"anesim/hw/clock"
)

// Params are a chip's scratchpad: its size, its banks and the bytes one bank gives a cycle.
type Params struct {
	Bytes   int
	Banks   int
	Granule int // bytes
}

// ConflictDepth is the number of cycles that one granule from each of rows rows takes
// when the rows are stride bytes apart: ceil(rows / (banks/g)) with
// g = gcd(stride/granule, banks) (decompiled).
func (p Params) ConflictDepth(rows int, stride uint32) int {
	if rows <= 1 {
		return rows
	}
	step := int(stride) / p.Granule
	g := gcd(step%p.Banks, p.Banks) // a step of zero banks leaves g = Banks
	return clock.CeilDiv(rows, p.Banks/g)
}

func gcd(a, b int) int {
	for a != 0 {
		a, b = b%a, a
	}
	return b
}

// Traffic is the bytes that engines read from the scratchpad and write to it. A broadcast
// counts once, however many engines listen.
type Traffic struct{ Read, Written uint64 }

// A Patch is the pixels one access covers: rows of width elements, the rows stride
// bytes apart.
type Patch struct {
	Rows, Width int
	Stride      uint32
}

// fetchGranules is what the array takes in one fetch: 128 bytes, a granule from each of
// eight banks. The vendor's compiler skews rows just so that those of one fetch meet in no
// bank, and skews nothing where a row fills a fetch (inferred: layout.md, 303 of 317).
const fetchGranules = 8

// fetchDepth is the cycles of a fetch: how many of its rows, granules wide and stride
// bytes apart, stand on one bank.
func (p Params) fetchDepth(rows, granules int, stride uint32) int {
	depth, at := 1, 0
	step := int(stride) / p.Granule % p.Banks
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

// Cycles is what one channel of a patch takes: every row's granules spread over the
// banks, and the conflicts that the row stride makes in each fetch.
func (p Params) Cycles(t Patch) int {
	if t.Rows == 0 || t.Width == 0 {
		return 0
	}
	granules := clock.CeilDiv(2*t.Width, p.Granule)
	spread := clock.CeilDiv(t.Rows*granules, p.Banks)
	// A fetch is of whole rows of a patch, whose widths are powers of two; what is wider
	// is the halo, for which the fetch has room.
	rows := min(t.Rows, max(1, fetchGranules>>(bits.Len(uint(granules))-1)))
	depth := p.fetchDepth(rows, granules, t.Stride)
	if depth == 1 {
		return spread
	}
	return max(spread, clock.CeilDiv(t.Rows, rows)*depth)
}

// WritebackCycles is what the results of a patch's channels take: every bank accepts a
// granule a cycle, every channel row starts a granule of its own, and rows that fall on
// the same banks wait for each other. A stride of zero, in tiles that are written once as
// a whole, makes no conflict.
func (p Params) WritebackCycles(channels int, t Patch) clock.Cycles {
	granules := channels * t.Rows * clock.CeilDiv(2*t.Width, p.Granule)
	if t.Stride != 0 && t.Rows > 1 {
		granules *= p.ConflictDepth(t.Rows, t.Stride)
		granules = clock.CeilDiv(granules, clock.CeilDiv(t.Rows, p.Banks))
	}
	return clock.Cycles(clock.CeilDiv(granules, p.Banks))
}
