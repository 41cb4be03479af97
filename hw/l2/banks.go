package l2

import "anesim/hw/clock"

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

// Cycles is what one channel of a patch takes: every row's granules spread over the
// banks, and the conflicts the row stride makes on top.
func (p Params) Cycles(t Patch) int {
	if t.Rows == 0 || t.Width == 0 {
		return 0
	}
	granules := clock.CeilDiv(2*t.Width, p.Granule)
	spread := clock.CeilDiv(t.Rows*granules, p.Banks)
	// A row of several granules keeps as many banks busy; rows that collide wait.
	depth := p.ConflictDepth(t.Rows, t.Stride)
	return max(spread, depth)
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
