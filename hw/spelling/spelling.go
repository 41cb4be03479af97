package spelling

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Nearest returns up to three of names that a misspelt one may have meant, nearest first. A
// name that differs in case alone is the only one; otherwise they are those at most a third
// of the letters away, and those that start with it or that it starts with.
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

// Hint asks whether one of the nearest names was meant, as the end of a message. It returns
// "" for none.
func Hint(nearest []string) string {
	if len(nearest) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(nearest, " or ") + "?"
}

// Suggest returns the [Hint] of the names nearest to a misspelt one.
func Suggest(name string, names []string) string { return Hint(Nearest(name, names)) }

// Unknown returns the error for a name that is none of the known ones, with a hint. What
// says what is named, such as "chip".
func Unknown(what, name string, known []string) error {
	return fmt.Errorf("%s %q is none of %v%s", what, name, known, Suggest(name, known))
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
