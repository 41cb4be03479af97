package execycles_test

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strconv"
	"strings"
	"testing"

	"anesim/hw/execycles"
	"anesim/hw/regs"
	"anesim/internal/material"
)

// A storedText is a bare text of a corpus.
type storedText struct {
	name       string
	firstWords int // words of its first descriptor
	target     execycles.Target
}

// readTexts lists the texts of a corpus. Those of manifests that name no target are of h13.
func readTexts(t testing.TB, corpus string) (list []storedText) {
	t.Helper()
	rows, err := csv.NewReader(bytes.NewReader(material.Read(t, corpus+"/MANIFEST.csv"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	words, target := slices.Index(rows[0], "first_td_words"), slices.Index(rows[0], "target")
	if words < 0 {
		t.Fatalf("the manifest of %s has no first_td_words", corpus)
	}
	for _, row := range rows[1:] {
		if !strings.HasSuffix(row[0], ".text.bin") {
			continue
		}
		text := storedText{name: corpus + "/" + row[0]}
		if row[words] != "" {
			if text.firstWords, err = strconv.Atoi(row[words]); err != nil {
				t.Fatal(err)
			}
		}
		if target >= 0 {
			if text.target, err = execycles.ParseTarget(row[target]); err != nil {
				t.Fatal(err)
			}
		}
		list = append(list, text)
	}
	return list
}

// Every word that Apple's compiler stored in the programs at hand is what the rules give for
// the program's target.
func TestStoredExeCycles(t *testing.T) {
	for corpus, want := range map[string]int{"programs": 104, "oracles": 135, "texts": 76} {
		equal := 0
		for _, text := range readTexts(t, corpus) {
			var bars regs.BARs
			for i := range bars {
				bars[i] = uint64(i+1) << 30
			}
			var chain execycles.Chain
			s := regs.Stream{Text: material.Read(t, text.name), FirstWords: text.firstWords, BARs: bars}
			for task, err := range s.Tasks(new(regs.File)) {
				if err != nil {
					t.Fatalf("%s: %v", text.name, err)
				}
				got := chain.Next(text.target, &task.Groups, task.Groups.Operands(), task.Beside)
				if stored := uint16(task.Header.Timing.ExeCycles()); got != stored {
					t.Errorf("%s: task %d: %d, stored %d", text.name, task.Index, got, stored)
					continue
				}
				equal++
			}
		}
		if equal != want {
			t.Errorf("%s: %d words are equal, want %d", corpus, equal, want)
		}
	}
}
