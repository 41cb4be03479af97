package rules

import (
	"os"
	"path/filepath"
	"testing"
)

// TestFind finds the rules of a file and the messages of files that violate them.
func TestFind(t *testing.T) {
	name := filepath.Join(t.TempDir(), "reader.go")
	const source = `package reader

func (r *reader) read(n int) error {
	if n < 0 {
		return fail(0, nil, "size %d is below zero (%q)", n, "x")
	}
	if n > 9 {
		return r.short(4, "header")
	}
	return print("no rule")
}
`
	if err := os.WriteFile(name, []byte(source), 0o666); err != nil {
		t.Fatal(err)
	}
	list, err := Find([]string{"fail", "short"}, name)
	if err != nil || len(list) != 2 {
		t.Fatalf("%v, %v", list, err)
	}
	messages := []string{`byte 0x0: size -3 is below zero ("x")`}
	if !list[0].ViolatedBy(messages) || list[1].ViolatedBy(messages) || list[0].Place != name+":5" {
		t.Errorf("%+v", list)
	}
}
