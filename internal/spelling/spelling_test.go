package spelling

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	names := []string{"conv", "matmul", "max", "relu", "sigmoid", "softmax"}
	for name, want := range map[string]string{
		"CONV": "conv", "convolution": "conv", "cnov": "conv", "matmull": "matmul", "softmx": "softmax", "sig": "sigmoid", "zzz": "", "": "", "mx": "max",
	} {
		if got := strings.Join(Nearest(name, names), " "); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"a", "", 1}, {"", "ab", 2}, {"abc", "abc", 0}, {"abc", "axc", 1}, {"abc", "bc", 1}, {"ab", "ba", 1},
		{"kitten", "sitting", 3}, {"flaw", "lawn", 2}, {"cfg", "cgf", 1}, {"abcdef", "uvwxyz", 6},
		{strings.Repeat("a", 65), "a", 65}, // too long to be a misspelt name
	} {
		if got := editDistance(tc.a, tc.b); got != tc.want {
			t.Errorf("from %q to %q it takes %d letters, want %d", tc.a, tc.b, got, tc.want)
		}
	}
}
