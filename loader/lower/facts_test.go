package lower_test

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"strings"
	"testing"

	"anesim"
	"anesim/internal/material"
	"anesim/loader/lower"
	"anesim/loader/network/weights"
)

// TestFacts compares layers whose text is not at hand with what is known of the compiler's programs:
// the number of tasks, and the bytes of constants and scratch.
func TestFacts(t *testing.T) {
	rows, err := csv.NewReader(bytes.NewReader(material.Read(t, "texts/facts.csv"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows[1:] {
		words := strings.Fields(row[1])
		m, err := anesim.Layer(words[0], words[1:]...)
		if err != nil {
			t.Errorf("%s: %v", row[1], err)
			continue
		}
		l := m.Network().Layers[0]
		w, err := weights.Sizes(&l, 1)
		if err != nil {
			t.Fatal(err)
		}
		c, err := lower.Compile(l.Lower, w)
		if err != nil {
			t.Errorf("%s: %v", row[1], err)
			continue
		}
		constants := c.Builder.ConstantBytes
		if constants == 0 {
			constants = 16384 // zeros that no register reads stand in the program
		}
		var differ []string
		for i, got := range []string{fmt.Sprint(c.Tasks, " tasks"), fmt.Sprint("constants ", constants), fmt.Sprint("scratch ", c.Builder.Scratch)} {
			if want := row[2+i]; !strings.Contains(" "+got+" ", " "+want+" ") {
				differ = append(differ, got+" for "+want)
			}
		}
		if len(differ) > 0 {
			t.Errorf("%s: %s", row[1], strings.Join(differ, ", "))
		}
	}
}
