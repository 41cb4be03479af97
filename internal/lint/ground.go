package lint

import (
	"slices"
	"sort"
)

// A span is a range of bytes with the same origin, which is a number that says where they come
// from.
type span struct {
	lo, hi int64
	by     int32
}

// A ground records the origin of each byte of a memory. Its spans are sorted and do not overlap.
// They are stored in several slices of limited length, so that inserting one moves few others.
type ground struct {
	sheets [][]span
}

const sheetSpans = 512

// findSpan returns the sheet and the index i of the first span that ends after addr.
func (g *ground) findSpan(addr int64) (sheet, i int) {
	sheet = sort.Search(len(g.sheets), func(i int) bool { s := g.sheets[i]; return s[len(s)-1].hi > addr })
	if sheet == len(g.sheets) {
		return sheet, 0
	}
	s := g.sheets[sheet]
	return sheet, sort.Search(len(s), func(i int) bool { return s[i].hi > addr })
}

// visitSpans calls f for each span of bytes from lo to hi-1, with spans that extend beyond this
// range cut to it.
func (g *ground) visitSpans(lo, hi int64, f func(s span)) {
	for sheet, i := g.findSpan(lo); sheet < len(g.sheets); sheet, i = sheet+1, 0 {
		for _, s := range g.sheets[sheet][i:] {
			if s.lo >= hi {
				return
			}
			f(span{max(s.lo, lo), min(s.hi, hi), s.by})
		}
	}
}

// setOrigin records origin as the number of the value that the bytes from lo to hi-1 belong to.
func (g *ground) setOrigin(lo, hi int64, origin int32) {
	if lo >= hi {
		return
	}
	first, i := g.findSpan(lo)
	if first == len(g.sheets) {
		if first == 0 || len(g.sheets[first-1]) >= sheetSpans {
			g.sheets = append(g.sheets, []span{{lo, hi, origin}})
			return
		}
		g.sheets[first-1] = append(g.sheets[first-1], span{lo, hi, origin})
		return
	}
	var room [3]span
	in := room[:0]
	if s := g.sheets[first][i]; s.lo < lo {
		in = append(in, span{s.lo, lo, s.by})
	}
	in = append(in, span{lo, hi, origin})
	last, j := g.findSpan(hi) // the first span that ends after hi
	if last < len(g.sheets) {
		if s := g.sheets[last][j]; s.lo < hi {
			in = append(in, span{hi, s.hi, s.by})
			j++
		}
	}
	switch {
	case first == last:
		g.sheets[first] = slices.Replace(g.sheets[first], i, j, in...)
	default:
		g.sheets[first] = append(g.sheets[first][:i], in...)
		if last < len(g.sheets) && j > 0 {
			if g.sheets[last] = g.sheets[last][j:]; len(g.sheets[last]) == 0 {
				last++
			}
		}
		g.sheets = slices.Delete(g.sheets, first+1, last)
	}
	// Short sheets bound what an insertion moves: in one list of all spans it would be quadratic in the number of
	// writes.
	if s := g.sheets[first]; len(s) > sheetSpans {
		half := len(s) / 2
		g.sheets[first] = slices.Clip(s[:half])
		g.sheets = slices.Insert(g.sheets, first+1, slices.Clone(s[half:]))
	}
}
