package lint

import (
	"slices"
	"sort"
)

// A span is bytes of one origin.
type span struct {
	lo, hi int64
	by     int32
}

// A ground is which bytes of a memory have which origin: spans in order that do not meet, in
// sheets of at most sheetSpans, so that a span is put in with little to move.
type ground struct {
	sheets [][]span
}

const sheetSpans = 512

// at is the place of the first span that ends behind an address.
func (g *ground) at(addr int64) (sheet, i int) {
	sheet = sort.Search(len(g.sheets), func(i int) bool { s := g.sheets[i]; return s[len(s)-1].hi > addr })
	if sheet == len(g.sheets) {
		return sheet, 0
	}
	s := g.sheets[sheet]
	return sheet, sort.Search(len(s), func(i int) bool { return s[i].hi > addr })
}

// look calls f with the spans from lo up to hi, cut off there.
func (g *ground) look(lo, hi int64, f func(s span)) {
	for sheet, i := g.at(lo); sheet < len(g.sheets); sheet, i = sheet+1, 0 {
		for _, s := range g.sheets[sheet][i:] {
			if s.lo >= hi {
				return
			}
			f(span{max(s.lo, lo), min(s.hi, hi), s.by})
		}
	}
}

// put gives the bytes from lo up to hi an origin.
func (g *ground) put(lo, hi int64, by int32) {
	if lo >= hi {
		return
	}
	first, i := g.at(lo)
	if first == len(g.sheets) {
		if first == 0 || len(g.sheets[first-1]) >= sheetSpans {
			g.sheets = append(g.sheets, []span{{lo, hi, by}})
			return
		}
		g.sheets[first-1] = append(g.sheets[first-1], span{lo, hi, by})
		return
	}
	var room [3]span
	in := room[:0]
	if s := g.sheets[first][i]; s.lo < lo {
		in = append(in, span{s.lo, lo, s.by})
	}
	in = append(in, span{lo, hi, by})
	last, j := g.at(hi) // the first span that ends behind hi
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
	if s := g.sheets[first]; len(s) > sheetSpans {
		half := len(s) / 2
		g.sheets[first] = slices.Clip(s[:half])
		g.sheets = slices.Insert(g.sheets, first+1, slices.Clone(s[half:]))
	}
}
