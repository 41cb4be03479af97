package bench

import (
	"testing"

	"anesim/internal/measured"
)

// The kind of a measured row decides which interval its likes get: convolutions by their
// window, matrix products, and everything else.
func TestKindOfRows(t *testing.T) {
	for _, tc := range []struct {
		row  measured.Row
		want string
	}{
		{measured.Row{Op: "conv", Shape: measured.Shape{Kh: 3, Kw: 3}}, "window"},
		{measured.Row{Op: "conv", Shape: measured.Shape{Kh: 1, Kw: 5}}, "window"},
		{measured.Row{Op: "conv", Shape: measured.Shape{Kh: 1, Kw: 1}}, "point"},
		{measured.Row{Op: "matmul"}, "product"},
		{measured.Row{Op: "sdpa"}, "product"},
		{measured.Row{Op: "relu"}, "pass"},
		{measured.Row{Op: "softmax"}, "pass"},
	} {
		if got := workKind(&tc.row); got != tc.want {
			t.Errorf("%s with a %dx%d window is of kind %q, want %q", tc.row.Op, tc.row.Kh, tc.row.Kw, got, tc.want)
		}
	}
	rows, err := measured.Rows()
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for i := range rows {
		count[workKind(&rows[i])]++
	}
	for _, kind := range []string{"window", "point", "product", "pass"} {
		if count[kind] == 0 {
			t.Errorf("no measured row is of kind %q", kind)
		}
	}
}
