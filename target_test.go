package anesim_test

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"

	"anesim"
	"anesim/hw"
	"anesim/hw/execycles"
	"anesim/internal/material"
	"anesim/loader"
	"anesim/loader/lower"
)

// A layer that is compiled for a target stores the estimates of that target, and a run of the
// program finds out which target that was, unless the caller names one.
func TestTargetOfEstimates(t *testing.T) {
	m, err := anesim.Layer("add", "c=64", "h=64", "w=64")
	if err != nil {
		t.Fatal(err)
	}
	for target, stored := range map[execycles.Target]uint16{0: 46, execycles.H13: 46, execycles.H13G: 23} { // 1.5 MiB
		o := anesim.Options{Target: target}
		programs, err := m.Programs(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		for _, model := range []struct {
			*anesim.Model
			o     anesim.Options
			want  execycles.Target
			model uint16
		}{
			{m, o, target.Or(execycles.H13), stored},
			{anesim.FromProgram(programs[0]), anesim.Options{}, target.Or(execycles.H13), stored},
			{anesim.FromProgram(programs[0]), anesim.Options{Target: execycles.H13}, execycles.H13, 46},
			{anesim.FromProgram(programs[0]), anesim.Options{Target: execycles.H13G}, execycles.H13G, 23},
		} {
			res, err := model.Run(t.Context(), model.o)
			if err != nil {
				t.Fatal(err)
			}
			exe := res.Report.Descriptors[0].Exe
			if res.Target() != model.want || exe.Stored != stored || exe.Model != model.model {
				t.Errorf("compiled for %v, run for %d: target %v, stored %d, model %d; want %v, %d, %d", target, model.o.Target, res.Target(), exe.Stored, exe.Model, model.want, stored, model.model)
			}
		}
	}
}

// The estimates of a layer are those that it stores, also where those that tell the targets apart are 0,
// in a run and in a session.
func TestTargetOfZeroEstimates(t *testing.T) {
	m, err := anesim.Layer("softmax", "c=64", "h=8", "w=8")
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[execycles.Target][]uint16{0: {0, 0, 0, 0, 0}, execycles.H13: {0, 0, 0, 0, 0}, execycles.H13G: {0, 0, 0, 2, 0}} {
		o := anesim.Options{Target: target}
		run, err := m.Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		s, err := anesim.NewSession(o)
		if err != nil {
			t.Fatal(err)
		}
		l, err := s.Load(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		called, err := l.Call(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for what, res := range map[string]*anesim.Result{"run": run, "session": called} {
			if res.Target() != target.Or(execycles.H13) {
				t.Errorf("%s for %d: target %v", what, target, res.Target())
			}
			for i, d := range res.Report.Descriptors {
				if d.Exe.Model != want[i] || d.Exe.Stored != want[i] {
					t.Errorf("%s for %d: descriptor %d stores %d, model %d; want %d", what, target, i, d.Exe.Stored, d.Exe.Model, want[i])
				}
			}
		}
	}
}

// A banner names the target. A program that has none and stores no estimates has that of the chip.
func TestTargetWithoutEstimates(t *testing.T) {
	chip := hw.M1()
	chip.Target = execycles.H13
	for _, tc := range []struct {
		example string
		chip    hw.Chip
		want    execycles.Target
	}{
		{"identity", chip, execycles.H13G}, // in its banner
		{"add", hw.M1(), execycles.H13G},
		{"add", chip, execycles.H13},
	} {
		p, err := lower.ExampleProgram(tc.example)
		if err != nil {
			t.Fatal(err)
		}
		res, err := anesim.Run(p, anesim.Options{Chip: tc.chip})
		if err != nil {
			t.Fatal(err)
		}
		if res.Target() != tc.want {
			t.Errorf("%s: target %v, want %v", tc.example, res.Target(), tc.want)
		}
	}
}

// Real texts of both targets, which do not say their target, have their own estimates.
func TestTargetOfRealTexts(t *testing.T) {
	rows, err := csv.NewReader(bytes.NewReader(material.Read(t, "texts/MANIFEST.csv"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows[1:] {
		p, err := loader.Open(material.File(t, "texts/"+row[0]))
		if err != nil {
			t.Fatal(err)
		}
		res, err := anesim.Run(p, anesim.Options{})
		if err != nil {
			t.Fatal(err)
		}
		zero := strings.Trim(row[4], "0 ") == ""
		if got := res.Target().String(); got != row[6] && !zero {
			t.Errorf("%s: target %s, want %s", row[0], got, row[6])
		}
		for _, d := range res.Report.Descriptors {
			if d.Exe.Model != d.Exe.Stored {
				t.Errorf("%s descriptor %d: stored %d us, model %d", row[0], d.Index, d.Exe.Stored, d.Exe.Model)
			}
		}
	}
}
