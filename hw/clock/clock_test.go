package clock

import "testing"

func TestTimeAndCyclesInvert(t *testing.T) {
	const f = Hertz(1.428e9)
	for _, n := range []Cycles{0, 1, 44, 1428, 1_000_003} {
		if got := f.Cycles(f.Time(n)); got != n {
			t.Errorf("%d cycles come back as %d", n, got)
		}
	}
	if got := f.Time(1428); got < 999.999 || got > 1000.001 {
		t.Errorf("1428 cycles at 1.428 GHz are %v, want 1 us", got)
	}
}

func TestRateRoundsUp(t *testing.T) {
	for _, tc := range []struct {
		r    Rate
		n    uint64
		want Cycles
	}{
		{16, 0, 0}, {16, 1, 1}, {16, 16, 1}, {16, 17, 2}, {0, 100, 0}, {0.5, 3, 6},
		{PerSecond(58e9, 1.45e9), 80, 2},
		{0.7, 21, 30}, {1.4, 21, 15}, // quotients a little above a whole number, by noise
		{1e10, 1, 0},             // a tenth of a billionth of a cycle is noise too
		{100, 1, 1}, {1e8, 1, 1}, // ten of them are not
		{4, 1_200_000_001, 300_000_000}, {4, 1_200_000_002, 300_000_001}, // however large: a quarter at most
	} {
		if got := tc.r.Cycles(tc.n); got != tc.want {
			t.Errorf("rate %v, %d units: %d cycles, want %d", tc.r, tc.n, got, tc.want)
		}
	}
}

func TestUnitsRead(t *testing.T) {
	for got, want := range map[string]string{
		Nanoseconds(15.0909).String():     "15.1 ns",
		Nanoseconds(1500).String():        "1.500 us",
		Nanoseconds(2.5e6).String():       "2.500 ms",
		Nanojoules(3).String():            "3.0 nJ",
		Nanojoules(4200).String():         "4.200 uJ",
		Picojoules(2).Times(3e9).String(): "6.000 mJ",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
