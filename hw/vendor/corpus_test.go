package vendor_test

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"anesim/hw/regs"
	"anesim/hw/vendor"
)

// reference is the directory next to the repository that has files of other projects.
const reference = "../../../shared"

func referenceFile(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(reference, name))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("%s is not beside the repository", name)
	}
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// texts lists the bare texts of a corpus with the words of their first descriptors.
func texts(t testing.TB, corpus string) map[string]int {
	t.Helper()
	rows, err := csv.NewReader(bytes.NewReader(referenceFile(t, corpus+"/MANIFEST.csv"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := -1
	for i, name := range rows[0] {
		if name == "first_td_words" {
			column = i
		}
	}
	if column < 0 {
		t.Fatalf("the manifest of %s has no first_td_words", corpus)
	}
	list := make(map[string]int)
	for _, row := range rows[1:] {
		if !strings.HasSuffix(row[0], ".text.bin") {
			continue
		}
		words, err := strconv.Atoi(row[column])
		if err != nil && row[column] != "" {
			t.Fatal(err)
		}
		list[corpus+"/"+row[0]] = words
	}
	return list
}

// unexplained are the stored words that the rule does not give, with what it does.
var unexplained = map[string]uint16{}

// Every word that the vendor's compiler stored in the programs at hand.
func TestStoredExeCycles(t *testing.T) {
	for corpus, want := range map[string]int{"programs": 104, "oracles": 135} {
		equal := 0
		for name, words := range texts(t, corpus) {
			var bars regs.BARs
			for i := range bars {
				bars[i] = uint64(i+1) << 30
			}
			s := regs.Stream{Text: referenceFile(t, name), FirstWords: words, BARs: bars}
			for task, err := range s.Tasks(new(regs.File)) {
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				got, stored := vendor.ExeCycles(&task.Groups, task.Groups.Operands(), task.Beside), uint16(task.Header.Timing.ExeCycles())
				id := fmt.Sprintf("%s/%d", name, task.Index)
				known, gap := unexplained[id]
				switch {
				case gap && (got != known || got == stored):
					t.Errorf("%s: %d, stored %d: the note that the rule gives %d is out of date", id, got, stored, known)
				case got == stored || gap:
					equal++
				default:
					t.Errorf("%s: %d, stored %d", id, got, stored)
				}
			}
		}
		if equal != want {
			t.Errorf("%s: %d words hold, want %d", corpus, equal, want)
		}
	}
}
