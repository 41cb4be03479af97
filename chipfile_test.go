package anesim_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"anesim"
	"anesim/hw"
)

func chipText(t testing.TB, c hw.Chip) string {
	t.Helper()
	var b bytes.Buffer
	if err := anesim.WriteChip(&b, &c); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A preset written and read again is the preset, to the last bit.
func TestChipFileRoundTrip(t *testing.T) {
	for _, c := range hw.Chips() {
		got, err := anesim.ReadChip(strings.NewReader(chipText(t, c)))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c, got); diff != "" {
			t.Errorf("%s: %s", c.Name, diff)
		}
	}
}

func TestChipFileErrors(t *testing.T) {
	good := chipText(t, hw.M1())
	change := func(from, to string) string {
		if !strings.Contains(good, from) {
			t.Fatalf("the file has no %q", from)
		}
		return strings.Replace(good, from, to, 1)
	}
	for name, c := range map[string]struct{ text, want string }{
		"empty":            {"", "name and constants"},
		"no name":          {change("name: m1", "name: ''"), "name requires a word"},
		"unknown key":      {good + "tiles: 3\n", `unknown key "tiles"`},
		"unknown constant": {change("  Clock:", "  Clocks:"), "Clocks: no such constant"},
		"negative clock":   {change("1.428e+09", "-1"), "Clock: -1 Hz is not between"},
		"not a number":     {change("1.428e+09", ".nan"), "Clock: NaN Hz"},
		"unit":             {change("unit: Hz", "unit: MHz"), `unit "MHz", want "Hz"`},
		"evidence":         {change("evidence: decompiled", "evidence: guessed"), `evidence "guessed"`},
		"missing":          {change("  Clock:", "  x:"), "no such constant"},
		"syntax":           {"name: [", "did not find"},
		"too long":         {strings.Repeat("#", 2<<20), "more than"},
	} {
		_, err := anesim.ReadChip(strings.NewReader(c.text))
		var e *anesim.ChipError
		if !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func FuzzReadChip(f *testing.F) {
	f.Add(chipText(f, hw.M1()))
	f.Add("name: x\nconstants: {}\n")
	f.Fuzz(func(t *testing.T, s string) {
		c, err := anesim.ReadChip(strings.NewReader(s))
		if err != nil {
			return
		}
		again, err := anesim.ReadChip(strings.NewReader(chipText(t, c)))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c, again); diff != "" {
			t.Error(diff)
		}
	})
}
