package onnxnodes

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/nodes.md")

// TestNodes runs the node tests in the directory $ONNX_TESTDATA, and compares the table of
// outcomes with testdata/nodes.md. The table is that of one release of Debian's
// libonnx-testdata, which installs the tests in /usr/share/libonnx-testdata/data/node.
func TestNodes(t *testing.T) {
	data := os.Getenv("ONNX_TESTDATA")
	if data == "" {
		t.Skip("ONNX_TESTDATA names no directory of ONNX backend node tests (Debian: libonnx-testdata)")
	}
	dirs, err := filepath.Glob(filepath.Join(data, "test_*"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no tests in %s", data)
	}
	type row struct{ pass, refused, wrong int }
	rows := map[string]*row{}
	var total row
	var notes []string
	for _, dir := range dirs {
		v := checkDirectory(dir)
		if v.Outcome == skipped || v.Nodes != 1 {
			continue
		}
		r := rows[v.Op]
		if r == nil {
			r = new(row)
			rows[v.Op] = r
		}
		for _, x := range []*row{r, &total} {
			switch v.Outcome {
			case passed:
				x.pass++
			case refused:
				x.refused++
			case wrong:
				x.wrong++
			}
		}
		if v.Outcome != passed {
			notes = append(notes, fmt.Sprintf("| %s | %s | %s | %s |", v.Op, strings.TrimPrefix(v.Name, "test_"), v.Outcome, v.Why))
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "ONNX backend node tests of one node with float tensors (libonnx-testdata), by `go test ./bench/internal/onnxnodes -update`.\n\n")
	fmt.Fprintf(&b, "%d pass, %d are refused with the reason, %d are wrong.\n\n| operator | pass | refused | wrong |\n|---|---|---|---|\n", total.pass, total.refused, total.wrong)
	ops := make([]string, 0, len(rows))
	for op := range rows {
		ops = append(ops, op)
	}
	slices.Sort(ops)
	for _, op := range ops {
		r := rows[op]
		fmt.Fprintf(&b, "| %s | %d | %d | %d |\n", op, r.pass, r.refused, r.wrong)
	}
	slices.Sort(notes)
	fmt.Fprintf(&b, "\n| operator | test | outcome | why |\n|---|---|---|---|\n%s\n", strings.Join(notes, "\n"))
	golden := filepath.Join("testdata", "nodes.md")
	if *update {
		if err := os.MkdirAll("testdata", 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != b.String() {
		t.Errorf("the table differs from %s; run with -update to write it:\n%s", golden, b.String())
	}
	if total.wrong > 0 {
		t.Errorf("%d tests have wrong results", total.wrong)
	}
}
