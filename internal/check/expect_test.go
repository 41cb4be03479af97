package check_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"anesim/internal/check"
)

// A cost is compared with an expected value within the tolerance, with a limit, or to the digits
// that were written.
func TestExpectationLimits(t *testing.T) {
	e := check.Entry{Input: "p"}
	e.Total.Cycles, e.Total.EnergyNJ, e.Total.DispatchNJ = 601, 1000.994, 85
	for text, want := range map[string]bool{
		"cycles=601": true, "cycles=602": false, "cycles = 6e2": false, "cycles=590+-2%": true, "cycles=590±1%": false,
		"cycles<=601": true, "cycles<=600": false, "cycles>=601": true, "cycles>=602": false, "cycles@total=601": true,
		"energy_nj=1085.99": true, "energy_nj=1085.994": true, "energy_nj=1086": true, "energy_nj=1085.9": false,
		"energy_nj=1087": false, "energy_nj<=1000": false, "dispatch_energy_nj=85": true, "macs=0": true, "macs=1": false,
	} {
		x, err := check.ParseExpectation(text)
		if err != nil {
			t.Fatal(err)
		}
		list, err := e.Expect([]check.Expectation{x})
		if err != nil || len(list) != 1 || list[0].Passed != want {
			t.Errorf("%s: passed %v, want %v (%v)", text, list, want, err)
		}
	}
}

// An error in expectations has the place of the wrong text, in a file by line and column.
func TestExpectationErrors(t *testing.T) {
	for _, x := range []struct {
		text         string
		line, column int
		what         string
	}{
		{"", 1, 1, "no header"},
		{"measure,valu\n", 1, 9, `unknown column "valu"`},
		{"measure,value\ncycles,1\ncycels,1\n", 3, 1, "did you mean cycles?"},
		{"measure,value\n# a comment\ncycles,1e\n", 3, 8, "want a number"},
		{"measure,value\ncycles,NaN\n", 2, 8, "want a number"},
		{"measure,value\ncycles,\"1,373\"\n", 2, 8, "want a number"},
		{"measure,value\ncycles,99999999999999999999999\n", 2, 8, "want a number"},
		{"measure,value\ncycles\n", 2, 1, "wrong number of fields"},
		{"measure,value,tolerance\ncycles,1,2\n", 2, 10, "want a percentage"},
		{"measure,value\ncycles,\"1\n", 2, 11, "extraneous or missing"},
		{"[\n {\"measure\": \"cycles\",\n  \"value\": true}]", 3, 12, "want a string or a number"},
		{"[\n {\"measure\": \"cycles\"}]", 2, 2, "missing value"},
		{"[{\"measure\": \"cycles\", \"measure\": \"cycles\"}]", 1, 24, "duplicate"},
		{"[{\"unit\": 1}]", 1, 3, `unknown member "unit"`},
		{"[{\"measure\": ", 1, 14, "end of file"},
		{"[]\n]", 2, 1, "after the end"},
		{"{}", 1, 1, "want an array"},
	} {
		_, err := check.ReadExpectations(strings.NewReader(x.text))
		var at *check.ExpectationError
		if !errors.As(err, &at) || at.Line != x.line || at.Column != x.column || !strings.Contains(err.Error(), x.what) {
			t.Errorf("%q: %v, want %q at %d:%d", x.text, err, x.what, x.line, x.column)
		}
	}
}

// The rows of a CSV file and the objects of a JSON file with the same content are the same
// expectations.
func TestExpectationForms(t *testing.T) {
	a, err := check.ReadExpectations(strings.NewReader("\ufeffvalue, measure,input,tolerance,descriptor\r\n6.5,time_ns,a.hwx,2%,3\r\n7,macs,,>=,\r\n"))
	b, errB := check.ReadExpectations(strings.NewReader(`[{"input": "a.hwx", "descriptor": 3, "measure": "time_ns", "value": 6.5, "tolerance": "2%"}, {"measure": "macs", "value": "7", "tolerance": ">="}]`))
	if err != nil || errB != nil || len(a) != 2 || len(b) != 2 {
		t.Fatal(a, err, b, errB)
	}
	for i := range a {
		x, y := a[i], b[i]
		if x.Input != y.Input || x.Part != y.Part || x.Measure != y.Measure || x.Value != y.Value || x.Bound != y.Bound || x.Tolerance != y.Tolerance {
			t.Errorf("CSV %+v, JSON %+v", x, y)
		}
	}
	if want := (check.Expectation{Input: "a.hwx", Part: "3", Measure: "time_ns", Value: 6.5, Tolerance: 0.02}); a[0].Input != want.Input || a[0].Part != want.Part || a[0].Value != want.Value || a[0].Tolerance != want.Tolerance {
		t.Errorf("got %+v, want %+v", a[0], want)
	}
}

// A number is a descriptor, even if a layer has the same name.
func TestExpectationParts(t *testing.T) {
	e := check.Entry{Input: "net", Layers: []check.Layer{{Name: "0"}, {Name: "7"}, {Name: "total"}, {Name: "a>=b"}}, Descriptors: []check.Descriptor{{Op: "conv"}}}
	for text, want := range map[string]string{
		"0": "descriptor 0 (conv)", "layer 0": "layer 0", "total": "total", "layer total": "layer total", "a>=b": "layer a>=b",
		"7": `the layer of this name is "layer 7"`, "1": "descriptor 1 is not in net, which has 1 descriptor", "a>=": "did you mean a>=b?",
	} {
		x, err := check.ParseExpectation("cycles@" + text + "=0")
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if list, err := e.Expect([]check.Expectation{x}); err != nil {
			got = err.Error()
		} else {
			got = list[0].Where
		}
		if !strings.HasSuffix(got, want) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

// No text makes the readers panic.
func FuzzExpectations(f *testing.F) {
	for _, s := range []string{"measure,value\ncycles,1\n", `[{"measure": "cycles", "value": 1}]`, "cycles@0=5+-2%", "cycles\r@0=5", "[[[", "[,", "\"", "cycles@±="} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		e := newSmallEntry()
		list, err := check.ReadExpectations(strings.NewReader(s))
		if err == nil {
			_, err = e.Expect(list)
		}
		x, errInline := check.ParseExpectation(s)
		for _, err := range []error{err, errInline} {
			var at *check.ExpectationError
			if err != nil && (!errors.As(err, &at) || at.Column < 1) {
				t.Errorf("%q: %v has no place", s, err)
			}
		}
		if errInline == nil && !check.IsInline(strings.TrimLeft(s, "\t\n\v\f\r ")) {
			t.Errorf("%q is an expectation, but IsInline is false (%+v)", s, x)
		}
	})
}

func newSmallEntry() *check.Entry {
	return &check.Entry{Input: "p", Layers: []check.Layer{{Name: "a"}}, Descriptors: []check.Descriptor{{Op: "conv"}}}
}

func ExampleEntry_Expect() {
	e := entryOf("cout=64")
	x, err := check.ParseExpectation("macs<=20e6")
	if err != nil {
		fmt.Println(err)
		return
	}
	list, err := e.Expect([]check.Expectation{x})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(list[0].Passed, list[0].String())
	// Output: false total: macs 28,901,376, expected at most 20,000,000 (+44.51%)
}
