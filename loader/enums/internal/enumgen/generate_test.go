package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The generated file in the tree is the table's, to the byte.
func TestGeneratedFileIsCurrent(t *testing.T) {
	dir := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(dir, "enums.txt"))
	if err != nil {
		t.Fatal(err)
	}
	want, err := Generate(string(text))
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "enums_gen.go"))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("enums_gen.go is not what enums.txt makes (run go generate ./loader/enums):\n%s", d)
	}
}

func TestTableErrors(t *testing.T) {
	const head = "enum\tE\tuint8\tE\tVendor\ttable\tbytes\t-\n"
	for _, tt := range []struct{ name, text, want string }{
		{"columns of an enumeration", "enum\tE", "2 columns"},
		{"columns of a value", head + "1\ta", "2 columns"},
		{"evidence", strings.Replace(head, "bytes", "rumour", 1), "evidence"},
		{"no enumeration", "1\ta\t-", "ahead of the first"},
		{"number", head + "x\ta\t-", "invalid syntax"},
		{"twice", head + "1\ta\t-\n2\tA\t-", "twice"},
		{"one Go name for two", head + "1\ta_b\t-\n2\ta-b\t-", "already"},
		{"empty column", head + "1\t\t-", "column 2 is empty"},
	} {
		if _, err := Generate(tt.text); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want one with %q", tt.name, err, tt.want)
		}
	}
}
