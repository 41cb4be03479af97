package mac

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"testing"

	"github.com/x448/float16"

	"anesim/internal/material"
)

// The constants of the compiler's softmax are the exponential table and then ours for
// the reciprocal: the hash of its section is known, its bytes are not at hand.
func TestReciprocalTableIsTheCompilers(t *testing.T) {
	const section = "3194eee529266bc79197bb4db1d299cbb6a1cfa63984024fbfd8f72b078dbdbf"
	exp := material.Read(t, "luts/exp.lut.bin")
	table := TableOf(Reciprocal)
	b := table.Encode()
	sum := sha256.Sum256(append(exp, b[:]...))
	if got := hex.EncodeToString(sum[:]); got != section {
		t.Errorf("exponential and reciprocal table hash to %s, the section to %s", got, section)
	}
}

func TestReciprocal(t *testing.T) {
	table := TableOf(Reciprocal)
	for _, tc := range []struct{ in, want float64 }{
		{1, 1}, {2, 0.5}, {-4, -0.25}, {0.5, 2}, {0, math.Inf(1)}, {math.Copysign(0, -1), math.Inf(1)}, {math.Inf(1), 0}, {1024, 1.0 / 1024},
	} {
		if got := table.Eval(Round(tc.in, NearestAway)); got != Round(tc.want, NearestAway) {
			t.Errorf("1/%g = %v, want %g", tc.in, got, tc.want)
		}
	}
	worst := 0.0
	for i := range 1 << 15 {
		h := float16.Float16(i)
		x := float64(h.Float32())
		if h.IsNaN() || h.IsInf(0) || x == 0 || 1/x > 65504 || 1/x < 0x1p-14 {
			continue
		}
		worst = max(worst, math.Abs(float64(table.Eval(h).Float32())*x-1))
	}
	// A chord over 1/64 of a mantissa misses 1/x by at most 1/4 (step/x)^2, knots and
	// results are rounded to eleven bits.
	t.Logf("worst relative error of the reciprocal table: %.2g", worst)
	if worst > 1.0/1024 {
		t.Errorf("worst relative error %g", worst)
	}
}
