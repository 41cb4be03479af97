package chain

import (
	"bytes"
	"encoding/csv"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"anesim/internal/material"
)

// A text is the text section of a compiled program.
type text struct {
	name       string
	text       []byte
	firstWords int // of its first descriptor, 0 where the manifest has none
}

// realTexts reads all text sections of the reference material.
func realTexts(t *testing.T) []text {
	t.Helper()
	var list []text
	for _, corpus := range [...]string{"programs", "oracles"} {
		rows, err := csv.NewReader(bytes.NewReader(material.Read(t, corpus+"/MANIFEST.csv"))).ReadAll()
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
			e.text = material.Read(t, corpus+"/"+row[file])
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b text) int { return strings.Compare(a.name, b.name) })
	return list
}
