package anesim

import (
	"errors"
	"strings"
	"testing"
)

func TestProceduresErrors(t *testing.T) {
	for _, layers := range [][]string{nil, {""}, {"add c=4", "relux c=4"}, make([]string, 17)} {
		if _, err := Procedures(1, layers...); err == nil {
			t.Errorf("%q is a model", layers)
		}
	}
	m, err := Procedures(1, "add c=4", "add c=8")
	if err != nil || strings.Join(m.program.Procedures, " ") != "add add2" {
		t.Errorf("%v, %v", m, err)
	}
	var e *LayerError
	if _, err := Procedures(1, "add q=4"); !errors.As(err, &e) {
		t.Error(err)
	}
}
