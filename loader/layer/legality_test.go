package layer

import (
	"strings"
	"testing"
)

// TestDocumentedLegality checks the rules of table C.8 at their limits: what they exclude is named
// with the table and stays valid, so that it is timed.
func TestDocumentedLegality(t *testing.T) {
	in := Shape{N: 1, C: 8, H: 12, W: 12}
	up := func(sy, sx int) *Layer {
		return &Layer{Op: Deconvolution, In: in, Cout: 8, Window: Window{Kh: 3, Kw: 3, Sy: sy, Sx: sx}}
	}
	wise := func(groups, cout int) *Layer {
		return &Layer{Op: Convolution, In: in, Cout: cout, Groups: groups, Window: Same(3, 1, in)}
	}
	for _, tc := range []struct {
		name string
		l    *Layer
		want string // "" where the documents allow it
	}{
		{"deconvolution by 1", up(1, 1), ""},
		{"deconvolution by 2", up(2, 2), ""},
		{"deconvolution by 2 and 1", up(2, 1), ""},
		{"deconvolution by 3", up(3, 3), "3x3"},
		{"deconvolution by 1 and 3", up(1, 3), "1x3"},
		{"convolution by 3", &Layer{Op: Convolution, In: in, Cout: 8, Window: Valid(3, 3)}, ""},
		{"channel-wise", wise(8, 8), ""},
		{"channel-wise with a multiplier", wise(8, 16), "8 groups for 16"},
		{"groups of two channels", wise(4, 16), ""},
		{"one group", wise(1, 16), ""},
	} {
		if err := tc.l.Validate(); err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
		got := tc.l.Legality()
		if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) || (got != "" && !strings.Contains(got, "table C.8")) {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
		if got != "" && !strings.Contains(tc.l.Caveat(), got) {
			t.Errorf("%s: caveat %q lacks it", tc.name, tc.l.Caveat())
		}
	}
}
