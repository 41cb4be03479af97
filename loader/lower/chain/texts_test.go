package chain

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A text is the text section of a compiled program.
type text struct {
	name       string
	text       []byte
	firstWords int // of its first descriptor, 0 where the manifest has none
}

// realTexts reads all text sections in the shared folder, or skips the test if there are none.
func realTexts(t *testing.T) []text {
	t.Helper()
	var list []text
	for _, corpus := range [...]string{"programs", "oracles"} {
		dir := filepath.Join("..", "..", "..", "..", "shared", corpus)
		f, err := os.Open(filepath.Join(dir, "MANIFEST.csv"))
		if err != nil {
			continue
		}
		defer f.Close()
		rows, err := csv.NewReader(f).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		file, first := slices.Index(rows[0], "file"), slices.Index(rows[0], "first_td_words")
		for _, row := range rows[1:] {
			if !strings.HasSuffix(row[file], ".text.bin") {
				continue
			}
			e := text{name: strings.TrimSuffix(filepath.Base(row[file]), ".text.bin")}
			if first >= 0 {
				e.firstWords, _ = strconv.Atoi(row[first])
			}
			if e.text, err = os.ReadFile(filepath.Join(dir, row[file])); err != nil {
				t.Fatal(err)
			}
			list = append(list, e)
		}
	}
	if len(list) == 0 {
		t.Skip("the real programs are not beside the repository")
	}
	slices.SortFunc(list, func(a, b text) int { return strings.Compare(a.name, b.name) })
	return list
}
