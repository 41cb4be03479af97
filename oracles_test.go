package anesim_test

import (
	"bytes"
	"encoding/csv"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"anesim"
	"anesim/firmware/engine"
	"anesim/hw"
	"anesim/hw/evidence"
	"anesim/internal/material"
	"anesim/loader"
)

// An oracle is a bare text of Apple's compiler, with its constants when they are
// at hand.
type oracle struct {
	name      string
	program   *loader.Program
	constants []half
}

// oracles reads the descriptor texts of one corpus. It skips the test if the corpus is missing.
func oracles(t testing.TB, corpus string) (list []oracle) {
	t.Helper()
	dir := material.File(t, corpus)
	rows, err := csv.NewReader(bytes.NewReader(material.Read(t, corpus+"/MANIFEST.csv"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := 0
	for i, c := range rows[0] {
		if c == "first_td_words" {
			column = i
		}
	}
	for _, row := range rows[1:] {
		if !strings.HasSuffix(row[0], ".text.bin") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, row[0]))
		if err != nil {
			t.Fatal(err)
		}
		words, _ := strconv.Atoi(row[column]) // empty where the zero padding tells
		o := oracle{name: strings.TrimSuffix(filepath.Base(row[0]), ".text.bin")}
		if o.program, err = (&loader.Options{FirstWords: words}).Read(o.name, bytes.NewReader(text), int64(len(text))); err != nil {
			t.Errorf("%s: %v", o.name, err)
			continue
		}
		// The file of constants begins where the text ends, the constants at a multiple of 64.
		if b, err := os.ReadFile(filepath.Join(dir, o.name+".const.bin")); err == nil {
			b = b[-len(text)&63:]
			for port := range o.program.Inputs() {
				if port.Name == "weights" {
					o.constants = fromBytes(append(b, make([]byte, max(0, int(port.Bytes)-len(b)))...))[:engine.Elements(port)]
				}
			}
		}
		list = append(list, o)
	}
	return list
}

// Every text runs, of each eight one in a short run: its values are computed, or a limit says
// why not. Nothing is a false fault or an error.
func TestEveryTextRuns(t *testing.T) {
	for _, corpus := range []string{"programs", "oracles"} {
		t.Run(corpus, func(t *testing.T) {
			kinds := make(map[evidence.LimitKind]int)
			computed := 0
			for i, o := range oracles(t, corpus) {
				if testing.Short() && i%8 != 0 {
					continue
				}
				inputs := make(map[string][]half)
				if o.constants != nil {
					inputs["weights"] = o.constants
				}
				r, err := anesim.Run(o.program, anesim.Options{Chip: hw.M1(), Values: true, Inputs: inputs})
				if err != nil {
					t.Errorf("%s: %v", o.name, err)
					continue
				}
				for _, f := range r.Report.Faults {
					t.Errorf("%s: fault: %v", o.name, f)
				}
				if r.Report.Complete() {
					computed++
					if len(r.Outputs) == 0 {
						t.Errorf("%s: complete, and no output", o.name)
					}
					continue
				}
				for i := range r.Report.Descriptors {
					d := &r.Report.Descriptors[i]
					if d.Computed {
						continue
					}
					if d.Note() == "" {
						t.Errorf("%s, descriptor %d: no values and no limit", o.name, i)
						break
					}
					l := d.Limits[0]
					kinds[l.Kind]++
					if l.Kind != evidence.MissingInput {
						t.Logf("%s, descriptor %d: %v", o.name, i, l)
					}
					break
				}
			}
			t.Logf("%d computed, the others by kind of limit: %v", computed, kinds)
		})
	}
}
