package accuracy

import "testing"

func TestFormatNumber(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 0.00012347: "0.0001235", 0.25: "0.25", 98.7: "98.7", 999.96: "1,000", 4961: "4,961", 13_802.3: "13,800", 1e18: "1000000000000000000",
	} {
		if got := formatNumber(v); got != want {
			t.Errorf("formatNumber(%g) = %q, want %q", v, got, want)
		}
	}
}
