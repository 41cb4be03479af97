package unguided

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// FuzzPlanted is a target whose defect a mutation of its seeds finds: TestFinds runs it in a
// process of its own.
func FuzzPlanted(f *testing.F) {
	f.Add([]byte("abcd"), uint16(7), "x", 1, float32(1), true)
	f.Add([]byte("abcdefgh"), uint16(9), "yz", -1, float32(2), false)
	kind := os.Getenv("PLANTED")
	Fuzz(f, func(t *testing.T, b []byte, n uint16, s string, i int, v float32, flag bool) {
		if len(b) < 8 || b[4] != 'e' || n != 256 {
			return
		}
		switch kind {
		case "error":
			t.Error("planted")
		case "fatal":
			t.Fatal("planted")
		case "panic":
			panic("planted")
		}
	})
}

// TestFinds plants a defect of each kind: it is found, its input is written into the corpus,
// and go test fails on that input alone.
func TestFinds(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"error", "fatal", "panic", "none"} {
		t.Run(kind, func(t *testing.T) {
			dir := t.TempDir()
			run := func(args ...string) (string, error) {
				cmd := exec.Command(exe, append(args, "-test.run=^FuzzPlanted$", "-test.v")...)
				cmd.Dir, cmd.Env = dir, append(os.Environ(), "PLANTED="+kind)
				out, err := cmd.CombinedOutput()
				return string(out), err
			}
			out, err := run("-unguided=20000")
			found, _ := filepath.Glob(filepath.Join(dir, "testdata", "fuzz", "FuzzPlanted", "*"))
			if kind == "none" {
				if err != nil || len(found) != 0 || !strings.Contains(out, "40002 executions") {
					t.Errorf("%v, %d files: %s", err, len(found), out)
				}
				return
			}
			if err == nil || len(found) == 0 || !strings.Contains(out, "planted") {
				t.Fatalf("%v, %d files: %s", err, len(found), out)
			}
			out, err = run()
			if err == nil || !strings.Contains(out, "planted") || !strings.Contains(out, filepath.Base(found[0])) {
				t.Errorf("go test does not read the file back: %v: %s", err, out)
			}
		})
	}
}

// TestMutate has the same mutations for the same seed, other ones for another, and none that
// changes the seed itself.
func TestMutate(t *testing.T) {
	seed := []any{[]byte("some text of a seed, 0123456789"), "key=1..5", uint16(3), byte(1), uint32(9), uint64(1), -4, float32(2), true}
	other := []any{[]byte("another"), "w=2", uint16(0), byte(0), uint32(0), uint64(0), 0, float32(0), false}
	before := encode(seed)
	series := func(s uint64) (list [][]byte) {
		m := mutator{Rand: rand.New(rand.NewPCG(s, 0))}
		for range 2000 {
			list = append(list, encode(m.mutate(seed, other)))
		}
		return list
	}
	a, b, c := series(1), series(1), series(2)
	if !reflect.DeepEqual(a, b) || reflect.DeepEqual(a, c) {
		t.Error("mutations do not follow from the seed of their numbers")
	}
	if !bytes.Equal(encode(seed), before) {
		t.Error("the seed is changed")
	}
	slices.SortFunc(a, bytes.Compare)
	if n := len(slices.CompactFunc(a, bytes.Equal)); n < 1800 {
		t.Errorf("%d different mutations of 2,000", n)
	}
	m := mutator{Rand: rand.New(rand.NewPCG(3, 0))}
	long := make([]byte, maxBytes-1)
	for range 5000 {
		if n := len(m.bytes(long, long)); n > maxBytes {
			t.Fatalf("%d bytes", n)
		}
	}
}
