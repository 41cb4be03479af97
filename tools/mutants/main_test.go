package main

import (
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const code = `package m

func larger(a, b int) int {
	if a > b { // that one may be equal makes no difference
		return a
	}
	return b
}

func length(s []int) (n int, err error) {
	for range s {
		n++
	}
	return n - -1, nil
}

func unseen(a int) int { return a + 1 }

var double = func(a int) int { return a * 2 }

func text(a string) string { return a + "." }

func odd(a int) bool { return a%2 != 0 }
`

const tests = `package m

import "testing"

func Test(t *testing.T) {
	if larger(1, 2) != 2 || larger(2, 1) != 2 || double(3) != 6 || text("a") != "a." {
		t.Error("wrong")
	}
	if n, err := length(make([]int, 3)); n != 4 || err != nil {
		t.Error(n, err)
	}
}

func TestOdd(t *testing.T) { // of one alone, which a*2 leaves alone
	if odd(0) {
		t.Error("0 is odd")
	}
}

func TestOutside(t *testing.T) { t.Skip("a test that reaches no code") }
`

// Mutants of a small module: those that live, those that do not compile, those of an operator that
// gremlins counts twice, and those outside functions.
func TestCount(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module m\n\ngo 1.26\n", "m.go": code, "m_test.go": tests} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	p := &pkg{set: token.NewFileSet(), every: 1, jobs: 2}
	list, err := p.classifyMutants(".", ".")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range list {
		got = append(got, strings.TrimSuffix(m.String(), ":"+strings.SplitN(m.String(), ":", 3)[2]))
	}
	want := []string{
		"LIVED CONDITIONALS_BOUNDARY at m.go:4",
		"KILLED CONDITIONALS_NEGATION at m.go:4",
		"KILLED INCREMENT_DECREMENT at m.go:12",
		"KILLED INVERT_NEGATIVES at m.go:14",
		"KILLED ARITHMETIC_BASE at m.go:14",
		"KILLED INVERT_NEGATIVES at m.go:14",
		"KILLED ARITHMETIC_BASE at m.go:14",
		"NOT COVERED ARITHMETIC_BASE at m.go:17",
		"KILLED ARITHMETIC_BASE at m.go:19",
		"UNBUILT ARITHMETIC_BASE at m.go:21",
		"KILLED CONDITIONALS_NEGATION at m.go:23",
		"LIVED ARITHMETIC_BASE at m.go:23",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got, want := formatSummary("m", list), "m: 9 of 11 killed, 81.8%; 1 of them do not compile; 1 not covered"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	p = &pkg{set: token.NewFileSet(), every: 4, jobs: 1}
	if list, err = p.classifyMutants(".", "."); err != nil {
		t.Fatal(err)
	}
	if got, want := formatSummary("m", list), "m: 2 of 2 killed, 100.0%; 1 not covered; 9 not in the sample"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Samples that begin at different mutants have none in common, and together all of them.
func TestSamplesBeginAtFirst(t *testing.T) {
	tests := []test{{blocks: map[string][]block{"m.go": {{line: 1, endLine: 9}}}}}
	for _, tc := range []struct {
		first int
		want  []int
	}{{0, []int{3, 6}}, {1, []int{1, 4, 7}}, {2, []int{2, 5}}, {3, []int{3, 6}}} {
		var all []*mutant
		for id := range 7 {
			all = append(all, &mutant{id: id + 1, file: "m.go", line: 5})
		}
		p := &pkg{every: 3, first: tc.first}
		var got []int
		for _, m := range p.chooseMutants(all, tests) {
			got = append(got, m.id)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("every third from %d on: mutants %v, want %v", tc.first, got, tc.want)
		}
	}
}

// Mutants of a package without tests are tested by those of the package above it.
func TestTestsOfAnotherPackage(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":      "module m\n\ngo 1.26\n",
		"m.go":        "package m\n\nimport \"m/below\"\n\nfunc Half(a int) int { return below.Divide(a, 2) }\n",
		"m_test.go":   "package m\n\nimport \"testing\"\n\nfunc TestHalf(t *testing.T) {\n\tif Half(6) != 3 {\n\t\tt.Error(\"wrong\")\n\t}\n}\n",
		"below/b.go":  "package below\n\nfunc Divide(a, b int) int { return a / b }\n",
		"other/o.go":  "package other\n",
		"other/o2.go": "package other\n\nfunc Sum(a, b int) int { return a + b }\n",
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	for path, want := range map[string]string{
		"./below": "./below: 1 of 1 killed, 100.0%",
		"./other": "./other: 0 of 0 killed, 0.0%; 1 not covered",
	} {
		p := &pkg{set: token.NewFileSet(), every: 1, jobs: 1}
		list, err := p.classifyMutants(path, ".")
		if err != nil {
			t.Fatal(err)
		}
		if got := formatSummary(path, list); got != want {
			t.Errorf("found %q, want %q", got, want)
		}
	}
}

// Mistakes on the command line are errors, not panics.
func TestRunRefusesArguments(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want string
	}{
		{nil, "missing package"},
		{[]string{"-skip", "(", "."}, "-skip: error parsing regexp"},
		{[]string{"-every", "0", "."}, "-every is 0"},
		{[]string{"-j", "-1", "."}, "-j is -1"},
		{[]string{"-every", "3", "-first", "4", "."}, "-first is 4"},
	} {
		if err := run(tc.args); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("run(%q) returns %v, want an error with %q", tc.args, err, tc.want)
		}
	}
}
