package anesim_test

import (
	"slices"
	"testing"

	"github.com/x448/float16"

	"anesim"
	"anesim/firmware/engine"
)

// A run shares dense tensors with the device instead of copying them, a session, whose memory
// goes on, does not: both give the same values, and nobody changes what the caller gave.
func TestRunSharesTensors(t *testing.T) {
	for _, layer := range [][]string{
		{"conv", "cin=8", "cout=8", "h=32", "w=32", "k=3", "pad=same"}, // dense
		{"relu", "c=8", "h=8", "w=33"},                                 // rows of 66 bytes, 128 apart
		{"softmax", "c=64", "h=4", "w=32"},
	} {
		m, err := anesim.Layer(layer[0], layer[1:]...)
		if err != nil {
			t.Fatal(err)
		}
		list, err := m.Programs(t.Context(), anesim.Options{Values: true})
		if err != nil {
			t.Fatal(err)
		}
		p := list[0]
		given := map[string][]float16.Float16{}
		for port := range p.Inputs() {
			given[port.Name] = engine.PseudoRandom(port.Name, engine.Elements(port), 7)
		}
		o := anesim.Options{Values: true, Inputs: given}
		r, err := anesim.Run(p, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, in := range r.Inputs {
			before := engine.PseudoRandom(in.Port.Name, engine.Elements(in.Port), 7)
			if !slices.Equal(given[in.Port.Name], before) || !slices.Equal(in.Data, before) {
				t.Errorf("%v changes its input %s", layer, in.Port.Name)
			}
		}
		s, err := anesim.NewSession(anesim.Options{Values: true})
		if err != nil {
			t.Fatal(err)
		}
		l, err := s.Load(t.Context(), anesim.FromProgram(p))
		if err != nil {
			t.Fatal(err)
		}
		for name, data := range given {
			if err := l.Set(name, data); err != nil {
				t.Fatal(err)
			}
		}
		again, err := l.Call(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i, out := range r.Outputs {
			if !slices.Equal(out.Data, again.Outputs[i].Data) {
				t.Errorf("%v: a session gives other values", layer)
			}
		}
		// The next call must not write into what the one before gave.
		kept := slices.Clone(again.Outputs[0].Data)
		for name, data := range given {
			half := slices.Clone(data)
			for i := range half {
				half[i] ^= 0x8000
			}
			if err := l.Set(name, half); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := l.Call(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(kept, again.Outputs[0].Data) {
			t.Errorf("%v: a call changes the values of the one before", layer)
		}
	}
}
