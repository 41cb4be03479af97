package spelling

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Nearest returns up to three elements of names that resemble name, most similar first. A name
// resembles another if one letter, or up to a third of the letters of the shorter one, is
// different, or if one begins with the other and both have at least three letters. If an element
// differs from name only in case, Nearest returns that element alone.
func Nearest(name string, names []string) []string {
	type near struct {
		name     string
		distance int
	}
	var list []near
	low := strings.ToLower(name)
	for _, n := range names {
		d := editDistance(low, strings.ToLower(n))
		switch {
		case d == 0:
			return []string{n}
		case d <= max(1, min(len(low), len(n))/3), isAbbreviation(low, strings.ToLower(n)), isAbbreviation(strings.ToLower(n), low):
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

// Hint returns a question that suggests the given names, such as "; did you mean m1 or m1max?", to
// append to an error message. It returns "" if nearest is empty.
func Hint(nearest []string) string {
	if len(nearest) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(nearest, " or ") + "?"
}

// Suggest returns the [Hint] for the elements of names that resemble name.
func Suggest(name string, names []string) string { return Hint(Nearest(name, names)) }

// Unknown returns the error for a name that is not one of the known names. Its message lists the
// known names and suggests similar ones. The argument kind says what kind of thing the names
// identify, such as "chip".
func Unknown(kind, name string, known []string) error {
	return fmt.Errorf("unknown %s %q; want %s%s", kind, name, joinAlternatives(known), Suggest(name, known))
}

// joinAlternatives joins names to a list such as "a, b or c".
func joinAlternatives(names []string) string {
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " or " + names[n-1]
	}
	return strings.Join(names, "")
}

// isAbbreviation reports whether part has at least three letters and name starts with it.
func isAbbreviation(part, name string) bool { return len(part) >= 3 && strings.HasPrefix(name, part) }

// editDistance returns how many edits turn a into b. An edit inserts, removes or replaces a letter,
// or swaps two adjacent letters.
func editDistance(a, b string) int {
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
