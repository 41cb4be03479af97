package anesim

import (
	"strings"
	"testing"
)

// A descriptor's report is stored once: the layers and the whole share the program's list. A
// network of 65,000 descriptors took 3 GB when each had a copy.
func TestDescriptorReportsAreStoredOnce(t *testing.T) {
	const net = "name: two\ninputs:\n  x: {c: 4, h: 6, w: 6}\nlayers:\n  - {op: conv, cout: 4, k: 3}\n  - {op: sigmoid}\n"
	m, err := Read("two.yaml", strings.NewReader(net), int64(len(net)))
	if err != nil {
		t.Fatal(err)
	}
	r, err := m.Run(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	program := r.Programs[0].Report.Descriptors
	if len(program) == 0 || &r.Report.Descriptors[0] != &program[0] {
		t.Error("the network's report has its own copy of the program's descriptors")
	}
	for _, l := range r.Layers {
		own := l.Report.Descriptors
		if len(own) == 0 {
			continue
		}
		if &own[0] != &program[own[0].Index] {
			t.Errorf("layer %s has its own copy of descriptor %d", l.Layer.Name, own[0].Index)
		}
	}
}
