//go:build !purego

package mac

import "testing"

// Zero taps are skipped from the share on at which that was measured to be faster.
func TestSkippingBeginsWhereItPays(t *testing.T) {
	for _, k := range []int{100, 200} {
		for _, unsigned := range []bool{false, true} {
			most := 35 * k / 100 // zeros that are multiplied all the same
			if unsigned {
				most = 55 * k / 100
			}
			if isSparse(most, k, unsigned) || !isSparse(most+1, k, unsigned) {
				t.Errorf("%d taps, unsigned %v: skipping does not begin above %d zeros", k, unsigned, most)
			}
		}
	}
}
