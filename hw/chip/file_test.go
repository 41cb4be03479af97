package chip_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"anesim/hw"
	"anesim/hw/chip"
)

func chipText(t testing.TB, c hw.Chip) string {
	t.Helper()
	var b bytes.Buffer
	if err := chip.Write(&b, &c); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A preset written and read again is the preset, to the last bit.
func TestChipFileRoundTrip(t *testing.T) {
	for _, c := range hw.Chips() {
		got, err := chip.Read(strings.NewReader(chipText(t, c)))
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
	cut := func(from, to string) string {
		head, rest, ok := strings.Cut(good, from)
		i := strings.Index(rest, to)
		if !ok || i < 0 {
			t.Fatalf("the file has no %q before %q", from, to)
		}
		return head + rest[i:]
	}
	for name, c := range map[string]struct{ text, want string }{
		"empty":                  {"", "a mapping with the keys \"name\" and \"constants\""},
		"no name":                {change("name: m1", "name: ''"), "invalid name; want a string of 1 to 64 bytes"},
		"unknown key":            {good + "tiles: 3\n", `unknown key "tiles"`},
		"unknown target":         {change("target: h13g", "target: h12"), `line 2: unknown target "h12"; want h13 or h13g`},
		"unknown constant":       {change("  Clock:", "  Clocks:"), "Clocks: unknown constant"},
		"negative clock":         {change("1.464e+09", "-1"), "Clock: -1 Hz is out of range"},
		"not a number":           {change("1.464e+09", ".nan"), "Clock: NaN Hz"},
		"unit":                   {change("unit: Hz", "unit: MHz"), `unit is "MHz"; want "Hz"`},
		"evidence":               {change("evidence: decompiled", "evidence: guessed"), `evidence "guessed"`},
		"no target":              {change("target: h13g\n", ""), `missing key "target"; want the target of Apple's compiler for this chip, h13 or h13g`},
		"missing":                {cut("  Clock:", "  Engines:"), "Clock: missing constant; anesim chip NAME prints all constants of a preset"},
		"misspelt":               {change("  Clock:", "  Clokc:"), "line 5: Clokc: unknown constant; did you mean Clock?"},
		"misspelt key":           {change("    unit: Hz", "    units: Hz"), `line 7: Clock: unknown key "units"; did you mean unit?`},
		"constant appears twice": {change("    unit: Hz", "    value: 1e9\n    unit: Hz"), "Clock: duplicate key \"value\""},
		"no value":               {change("    value: 1.464e+09\n", ""), "line 6: Clock: missing key \"value\""},
		"a word":                 {change("1.464e+09", "fast"), `line 6: Clock: value "fast" is not a number`},
		"a list":                 {change("1.464e+09", "[1, 2]"), "line 6: Clock: value"},
		"odd engines":            {change("value: 16\n    unit: engines", "value: 24\n    unit: engines"), "want at most 16 or a multiple of 16"},
		"part of an engine":      {change("value: 16\n    unit: engines", "value: 1.5\n    unit: engines"), "1.5 engines is not a whole number"},
		"large L2":               {change("2.097152e+06\n    unit: B\n", "4194304\n    unit: B\n"), "an L2 register counts 16-byte units in 17 bits"},
		"syntax":                 {"name: [", "did not find"},
		"too long":               {strings.Repeat("#", 2<<20), "exceeds"},
	} {
		_, err := chip.Read(strings.NewReader(c.text))
		var e *chip.Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// Every constant has a rule, in the chip's order, that its presets keep.
func TestConstantComments(t *testing.T) {
	for _, c := range hw.Chips() {
		text := chipText(t, c)
		for name, k := range c.Constants() {
			if !strings.Contains(text, "\n  "+name+":\n") {
				t.Errorf("%s is not in the file", name)
			}
			d := c
			if err := chip.Set(&d, name, k.Value); err != nil || d != c {
				t.Errorf("%s: its own value: %v", name, err)
			}
			if err := chip.Set(&d, name, -1); err == nil {
				t.Errorf("%s: takes -1", name)
			}
		}
		lines := strings.Split(text, "\n")
		for i, line := range lines {
			name, _, ok := strings.Cut(strings.TrimPrefix(line, "  "), ":")
			if ok && strings.HasPrefix(line, "  ") && !strings.HasPrefix(line, "   ") && !strings.HasPrefix(name, "#") && !strings.HasPrefix(lines[i-1], "  # ") {
				t.Errorf("%s has no comment", name)
			}
		}
	}
}

func FuzzReadChip(f *testing.F) {
	f.Add(chipText(f, hw.M1()))
	f.Add("name: x\nconstants: {}\n")
	f.Fuzz(func(t *testing.T, s string) {
		c, err := chip.Read(strings.NewReader(s))
		if err != nil {
			return
		}
		again, err := chip.Read(strings.NewReader(chipText(t, c)))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c, again); diff != "" {
			t.Error(diff)
		}
	})
}
