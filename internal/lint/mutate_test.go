package lint_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"anesim/internal/lint"
	"anesim/loader"
)

// Words of real programs at random: lint neither fails nor takes long, and says the same twice.
func TestMutatedPrograms(t *testing.T) {
	files, err := filepath.Glob("../../loader/testdata/examples/*.hwx")
	if err != nil || len(files) == 0 {
		t.Fatalf("no programs: %v", err)
	}
	r := rand.New(rand.NewPCG(11, 12))
	rounds := 1500
	if testing.Short() {
		rounds = 30
	}
	linted, found := 0, map[lint.Rule]int{}
	for _, file := range files {
		whole, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p, err := loader.Read(file, bytes.NewReader(whole), int64(len(whole)))
		if err != nil {
			t.Fatal(err)
		}
		text := int(p.TextOffset())
		for range rounds {
			b := bytes.Clone(whole)
			for range 1 + r.IntN(3) {
				at := text + 4*r.IntN(len(p.Text)/4)
				w := binary.LittleEndian.Uint32(b[at:])
				switch r.IntN(4) {
				case 0:
					w ^= 1 << r.IntN(32)
				case 1:
					w = r.Uint32()
				case 2:
					w = 0
				case 3:
					w *= 2
				}
				binary.LittleEndian.PutUint32(b[at:], w)
			}
			q, err := loader.Read(file, bytes.NewReader(b), int64(len(b)))
			if err != nil {
				continue
			}
			start := time.Now()
			x, err := lint.Program(q)
			if took := time.Since(start); took > 2*time.Second {
				t.Errorf("%s takes %v", file, took)
			}
			if err != nil {
				continue
			}
			linted++
			for i := range x.Findings {
				found[x.Findings[i].Rule]++
			}
		}
	}
	t.Logf("%d of %d programs linted: %v", linted, rounds*len(files), found)
	for _, rule := range []lint.Rule{lint.Overlap, lint.Unread, lint.Unwritten, lint.Fold, lint.Hint} {
		if found[rule] == 0 && !testing.Short() {
			t.Errorf("no finding of %s", rule)
		}
	}
}
