package report

import (
	"testing"

	"anesim/hw/clock"
)

// A cell is no formula and has no line of its own; numbers and all other names stay as they are.
func TestCell(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "conv1": "conv1", "a=b": "a=b", "-1": "-1", "+2.5e-3": "+2.5e-3", "-": "-", "=1+1": "'=1+1", "@sum": "'@sum",
		"+cmd|' /C calc'!A0": "'+cmd|' /C calc'!A0", "-2+3": "'-2+3", "-Inf": "'-Inf", "-0x1p3": "'-0x1p3", "'x": "'x", "＝1": "'＝1",
		"\t=1": `\t=1`, "=a\nb": `'=a\nb`,
	} {
		if got := Cell(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

func TestUnits(t *testing.T) {
	for n, want := range map[uint64]string{0: "0 B", 999: "999 B", 8320: "8.32 kB", 12345: "12.3 kB", 999_960: "1.00 MB", 123_456_789: "123 MB", 5e12: "5.00 TB"} {
		if got := Size(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
	for text, want := range map[string]string{
		"": "", "+": "+", "-5324": "-5,324", "+999": "+999", "1234567.8901": "1,234,567.8901", "0.12345": "0.12345", "1.5e+09": "1.5e+09", "+Inf": "+Inf",
	} {
		if got := GroupDigits(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	for v, want := range map[float64]string{0: "-", 1.234: "1.23", 99.94: "99.9", 999.4: "999", 999.6: "1,000", 40912.3: "40,912"} {
		if got := Rate(v); got != want {
			t.Errorf("%g: %q, want %q", v, got, want)
		}
	}
	for n, want := range map[uint64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := Thousands(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

func TestTimeAs(t *testing.T) {
	for _, tc := range []struct {
		t, u clock.Nanoseconds
		want string
	}{{725.1, 1246, "0.725 us"}, {2213, 1246, "2.21 us"}, {1.2e6, 980, "1,200,000 ns"}, {999e6, 1.5e9, "0.999 s"}, {5e5, 1e6, "0.500 ms"}} {
		if got := TimeAs(tc.t, tc.u); got != tc.want {
			t.Errorf("%v as %v: %q, want %q", tc.t, tc.u, got, tc.want)
		}
	}
	for x, want := range map[clock.Nanoseconds]string{
		0: "0 ns", 0.0123: "0.012 ns", 0.9994: "0.999 ns", 9.996: "10.0 ns", 15: "15.0 ns", 999.4: "999 ns", 999.6: "1.00 us", 251697: "252 us",
		2.5e6: "2.50 ms", 999.7e6: "1.00 s", 3e9: "3.00 s", 1234e9: "1,234 s", -1500: "-1.50 us",
	} {
		if got := TimeText(x); got != want {
			t.Errorf("%v: %q, want %q", x, got, want)
		}
	}
	if got := EnergyText(2943190); got != "2.94 mJ" {
		t.Errorf("2,943,190 nJ: %q", got)
	}
}
