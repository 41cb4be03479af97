package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGeneratedFileIsCurrent(t *testing.T) {
	table, err := os.ReadFile("../../commands.txt")
	if err != nil {
		t.Fatal(err)
	}
	want, err := Generate(string(table))
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../commands_gen.go")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("go generate ./internal/firmware/command changes commands_gen.go:\n%s", diff)
	}
}

func TestTableErrors(t *testing.T) {
	for table, want := range map[string]string{
		"0x00\tSTOP\tdown\tlifecycle":          "line 1 has 4 columns",
		"0x01\tSTOP\tdown\tlifecycle\tnone":    "want 0x00",
		"0x00\tSTOP\taside\tlifecycle\tnone":   "direction",
		"0x00\tSTOP\tdown\tlifecycle\tguessed": "body",
	} {
		if _, err := Generate(table); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", table, err, want)
		}
	}
}
