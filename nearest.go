package anesim

import (
	"cmp"
	"slices"
	"strings"
)

// Nearest are the names that a misspelt one may have meant, nearest first: those that
// differ in case alone, else those that are a third of its letters away at most or that
// one starts the other.
func Nearest(name string, names []string) []string {
	type near struct {
		name     string
		distance int
	}
	var list []near
	low := strings.ToLower(name)
	for _, n := range names {
		d := distance(low, strings.ToLower(n))
		switch {
		case d == 0:
			return []string{n}
		case d <= max(1, min(len(low), len(n))/3), isPart(low, strings.ToLower(n)), isPart(strings.ToLower(n), low):
			list = append(list, near{n, d})
		}
	}
	slices.SortStableFunc(list, func(a, b near) int { return cmp.Compare(a.distance, b.distance) })
	const most = 3
	var out []string
	for _, n := range list[:min(most, len(list))] {
		out = append(out, n.name)
	}
	return out
}

// isPart reports whether a name is the start of another, in at least three letters.
func isPart(part, name string) bool { return len(part) >= 3 && strings.HasPrefix(name, part) }

// distance is the number of letters to insert, remove, replace or swap with the next to
// make b of a.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return max(len(a), len(b))
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replace := last[j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			row[j] = min(last[j]+1, row[j-1]+1, replace)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
