package anesim_test

import (
	"errors"
	"strings"
	"testing"

	"anesim"
)

func TestProceduresErrors(t *testing.T) {
	for _, layers := range [][]string{nil, {""}, {"add c=4", "relux c=4"}, make([]string, 17)} {
		if _, err := anesim.Procedures(1, layers...); err == nil {
			t.Errorf("%q is a model", layers)
		}
	}
	m, err := anesim.Procedures(1, "add c=4", "add c=8")
	if err != nil || strings.Join(programOf(t, m).Procedures, " ") != "add add2" {
		t.Errorf("%v, %v", m, err)
	}
	var e *anesim.LayerError
	if _, err := anesim.Procedures(1, "add q=4"); !errors.As(err, &e) {
		t.Error(err)
	}
}
