package vectors

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/x448/float16"
)

func ExampleReductions() {
	cases, err := Reductions()
	if err != nil {
		fmt.Println(err)
		return
	}
	c := cases[0]
	x, w := c.Data.Operands()
	fmt.Println(c.Name, c.Origin, len(x), x[:3], w[:3], float16.Float16(c.Data.Want))
	// Output: [1024, -1024, 1] x 16 silicon 48 [1024 -1024 1] [1 1 1] 16
}

// Every file is a case of a family, and every family loads.
func TestEveryFileIsACase(t *testing.T) {
	loaded := make(map[string]bool)
	note(t, loaded, Reductions)
	note(t, loaded, Accumulations)
	note(t, loaded, Checksums)
	note(t, loaded, Specials)
	note(t, loaded, Runs)
	note(t, loaded, CostDumps)
	note(t, loaded, TableErrors)
	note(t, loaded, Examples)
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if !loaded[name] {
			t.Errorf("%s is loaded by none of the families", name)
		}
		if !slices.Contains(listFamilies(), path.Dir(name)) {
			t.Errorf("%s stands in no family", name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func note[T any](t *testing.T, loaded map[string]bool, load func() ([]Case[T], error)) {
	t.Helper()
	cases, err := load()
	if err != nil {
		t.Error(err)
	}
	names := make(map[string]string)
	for _, c := range cases {
		loaded[c.File] = true
		key := path.Dir(c.File) + "\x00" + c.Name
		if names[key] != "" {
			t.Errorf("%s and %s have one name, %q", names[key], c.File, c.Name)
		}
		names[key] = c.File
	}
}

func TestHalf(t *testing.T) {
	for in, want := range map[string]Half{
		`0`: 0, `-0`: 0x8000, `-0.0`: 0x8000, `1`: 0x3c00, `-2.5`: 0xc100, `65504`: 0x7bff, `5.9604644775390625e-8`: 1,
		`"inf"`: 0x7c00, `"-inf"`: 0xfc00, `"nan"`: 0x7e00, `"0x3b9f"`: 0x3b9f, `"0x0001"`: 1,
	} {
		var h Half
		if err := json.Unmarshal([]byte(in), &h); err != nil || h != want {
			t.Errorf("%s is %#04x, %v; want %#04x", in, uint16(h), err, uint16(want))
		}
	}
	for _, in := range []string{`2049`, `65520`, `1e-9`, `1e999`, `"0x1"`, `"0x10000"`, `"3b9f00"`, `"one"`, `"\q"`, `true`, `[1]`} {
		var h Half
		if err := json.Unmarshal([]byte(in), &h); err == nil {
			t.Errorf("%s is read as %#04x", in, uint16(h))
		}
	}
	for i := range 1 << 16 {
		b, err := json.Marshal(Half(i))
		var again Half
		if err == nil {
			err = json.Unmarshal(b, &again)
		}
		if err != nil || again != Half(i) {
			t.Fatalf("%#04x is written as %s and read as %#04x, %v", i, b, uint16(again), err)
		}
	}
}

func TestOperands(t *testing.T) {
	r := Reduction{Repeat: 2, Terms: []Term{{X: 0x3c00, W: 0x4000}, {Times: 2, X: 1, W: 2}}}
	x, w := r.Operands()
	if d := cmp.Diff([]float16.Float16{0x3c00, 1, 1, 0x3c00, 1, 1}, x); d != "" {
		t.Errorf("inputs:\n%s", d)
	}
	if d := cmp.Diff([]float16.Float16{0x4000, 2, 2, 0x4000, 2, 2}, w); d != "" {
		t.Errorf("weights:\n%s", d)
	}
	if d := cmp.Diff([]float16.Float16{5, 6, 6}, (Values{{V: 5}, {Times: 2, V: 6}}).Halves()); d != "" {
		t.Errorf("values:\n%s", d)
	}
}

func TestBrokenCases(t *testing.T) {
	const good = `"name":"n","source":"s"`
	for _, tt := range []struct{ file, text, want string }{
		{"silicon/reduction/a.json", `{`, "JSON"},
		{"silicon/reduction/a.json", `[]`, "JSON"},
		{"silicon/reduction/a.json", `{` + good + `,"origin":"silicon","data":{"terms":[{"x":2049,"w":1}],"want":0}}`, "fp16 cannot represent 2049"},
		{"silicon/reduction/a.json", `{` + good + `,"origin":"silicon","data":{"terms":[{"x":1,"w":1}],"wnat":0}}`, "wnat"},
		{"silicon/reduction/a.json", `{` + good + `,"origin":"silicon","data":{"terms":[{"x":1,"w":1}],"want":0}} 1`, "unexpected second JSON value"},
		{"silicon/reduction/a.json", `{` + good + `,"origin":"silicon","data":{"terms":[],"want":0}}`, "missing terms"},
		{"silicon/reduction/a.json", `{` + good + `,"origin":"silicon","data":{"repeat":-1,"terms":[{"x":1,"w":1}],"want":0}}`, "repeat count is -1"},
		{"silicon/reduction/a.json", `{` + good + `,"origin":"silicon","data":{"repeat":2,"terms":[{"times":1048576,"x":1,"w":1}],"want":0}}`, "repeat count is 2097152"},
		{"silicon/reduction/a.json", `{` + good + `,"origin":"derived","data":{"terms":[{"x":1,"w":1}],"want":0}}`, `"derived" does not match the directory`},
		{"derived/reduction/a.json", `{` + good + `,"origin":"silicon","data":{"terms":[{"x":1,"w":1}],"want":0}}`, `"silicon" does not match the directory`},
		{"silicon/reduction/a.json", `{"name":"n","origin":"silicon","data":{"terms":[{"x":1,"w":1}],"want":0}}`, "missing source"},
		{"silicon/reduction/a.json", `{"source":"s","origin":"silicon","data":{"terms":[{"x":1,"w":1}],"want":0}}`, "missing name"},
		{"silicon/reduction/b.txt", ``, "no cases"},
	} {
		family := path.Dir(tt.file)
		cases, err := Load[Reduction](fstest.MapFS{tt.file: {Data: []byte(tt.text)}}, family)
		var e *CaseError
		if !errors.As(err, &e) || !strings.Contains(err.Error(), tt.want) || cases != nil {
			t.Errorf("%s: %v and %d cases, want a *CaseError with %q", tt.text, err, len(cases), tt.want)
		}
	}
	for _, bad := range []checker{
		&Special{}, &Run{}, &Run{Example: "a", File: "b"}, &Run{Example: "a"},
		&Run{Example: "a", Inputs: []Values{{{Times: -1}}}, Outputs: []Values{{}}}, &CostDump{}, &Golden{},
		&Accumulation{}, &Accumulation{Chips: []string{"M4"}, Sums: []Sum{{X: []Half{1, 2}, W: []Half{1}}}},
		&Checksum{}, &Checksum{"l", "i", 1, []string{"M1"}, 0.1, "closed", 13, ""}, &Checksum{"l", "i", 1, []string{"M1"}, 0.1, Exact, 0, ""},
		&Checksum{"l", "i", 1, []string{"M1"}, 2, Open, 0, ""}, &Checksum{"l", "i", 1, []string{"M1"}, 0.1, Open, 3, ""},
	} {
		if bad.validate() == nil {
			t.Errorf("%+v passes", bad)
		}
	}
	if _, err := Load[Reduction](fstest.MapFS{}, "["); err == nil {
		t.Error("a family that is no pattern loads")
	}
}

// Only derived cases are ever written.
func TestWriteRefusesWhatWasNotDerived(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, files); err != nil {
		t.Fatal(err)
	}
	data := Reduction{Terms: []Term{{X: 1, W: 1}}}
	refused := []Case[Reduction]{
		{"n", Silicon, "s", data, "silicon/reduction/ones_16000.json"},
		{"n", Derived, "s", data, "silicon/reduction/ones_16000.json"},
		{"n", Derived, "s", data, "derived/../silicon/reduction/ones_16000.json"},
		{"n", Derived, "s", data, "../derived/new.json"},
		{"n", Derived, "s", data, "/derived/new.json"},
		{"n", Synthetic, "s", data, "synthetic/runs/add.json"},
		{"n", RealProgram, "s", data, "silicon/costdump/conv_1x1_3to2.json"},
		{"", Derived, "s", data, "derived/examples/new.json"},
		{"n", Derived, "s", Reduction{}, "derived/examples/new.json"},
		{"n", Derived, "s", data, "derived/no/such/directory.json"},
	}
	for _, c := range refused {
		var e *CaseError
		if err := c.Write(dir); !errors.As(err, &e) {
			t.Errorf("%s of origin %q: %v, want a *CaseError", c.File, c.Origin, err)
		}
	}
	if d := cmp.Diff(contents(t, files), contents(t, os.DirFS(dir))); d != "" {
		t.Errorf("refused and written:\n%s", d)
	}

	c := Case[Reduction]{"n", Derived, "s", data, "derived/examples/new.json"}
	if err := c.Write(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "derived", "examples", "new.json")); err != nil {
		t.Error(err)
	}
	var again Case[Reduction]
	if err := again.readFile(os.DirFS(dir), c.File); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(c, again); d != "" {
		t.Errorf("written and read:\n%s", d)
	}
}

func contents(t *testing.T, fsys fs.FS) map[string]string {
	t.Helper()
	m := make(map[string]string)
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(fsys, name)
		m[name] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}
