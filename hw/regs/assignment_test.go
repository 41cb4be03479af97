package regs_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"anesim/hw/regs"
)

// Every register and field can be assigned by its group's name or number, in any case and with spaces
// around, and means the same bits each time; a number that the bits cannot hold is refused.
func TestAssignments(t *testing.T) {
	assign := func(text string) (string, error) {
		r, f, v, err := regs.ParseAssignment(text)
		name := "word"
		if f != nil {
			name = f.Name
		}
		return fmt.Sprintf("%s.%s %s %#x", r.Block, r.Name, name, v), err
	}
	accepted, refused := 0, 0
	for r := range regs.Registers() {
		fields := []string{""}
		for _, f := range r.Fields {
			fields = append(fields, "."+f.Name)
		}
		for _, field := range fields {
			name := r.Name + field
			for _, value := range []string{"0", "1", "0x40", "-1", "64", "0xffffffff", "0x100000000", "1.5", "x", ""} {
				want, err := assign(r.Block + "." + name + "=" + value)
				if err == nil {
					accepted++
				} else {
					refused++
				}
				for _, text := range []string{r.Group + "." + name + "=" + value, strings.ToLower(r.Block+"."+name) + "=" + value, "  " + r.Block + "." + name + " =  " + value + " "} {
					if got, other := assign(text); got != want || (err == nil) != (other == nil) {
						t.Errorf("%q: %s, %v; want %s, %v", text, got, other, want, err)
					}
				}
			}
			if got, err := assign(r.Block + "." + name + "=0x100000000"); err == nil && !strings.Contains(got, "Value") && !strings.Contains(got, "Addr") {
				t.Errorf("%s.%s takes 33 bits: %s", r.Block, name, got)
			}
		}
	}
	if accepted < 500 || refused < 500 {
		t.Errorf("%d accepted and %d refused are too few to show anything", accepted, refused)
	}
}

// An unknown name comes with those that exist in its place.
func TestUnknownNamesOfAssignments(t *testing.T) {
	for text, want := range map[string]struct{ unknown, known string }{
		"Comon.InDim.Win=1":    {"Comon", "Common"},
		"Common.InDimm.Win=1":  {"InDimm", "InDim"},
		"Common.InDim.Width=1": {"Width", "Win"},
		"Common.InDim.Win=y":   {"", ""},
		"Common.InDim":         {"", ""},
		"Win=1":                {"", ""},
		"Header.Bases.X=1":     {"", ""},
		"CCDMA.Config=1":       {"", ""},
	} {
		_, _, _, err := regs.ParseAssignment(text)
		var e *regs.AssignmentError
		if !errors.As(err, &e) || e.Unknown != want.unknown || want.known != "" && !slices.Contains(e.Names, want.known) || want.known == "" && e.Names != nil {
			t.Errorf("%s: %+v", text, err)
		}
	}
}
