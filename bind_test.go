package anesim_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"anesim"
	"anesim/internal/samples"
	"anesim/loader"
)

// One program serves a range of shapes: its height is a run-time parameter that patches
// the extents of source, result and patch. For each height the rows up to it are computed
// and those beyond are left alone.
func TestOneProgramServesARangeOfShapes(t *testing.T) {
	const c, h, w = 4, 16, 8
	m, err := anesim.Layer("relu", fmt.Sprint("c=", c), fmt.Sprint("h=", h), fmt.Sprint("w=", w))
	if err != nil {
		t.Fatal(err)
	}
	list, err := m.Programs(t.Context(), anesim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := samples.LiveRows(list[0], h)
	if err != nil {
		t.Fatal(err)
	}
	s := values(t)
	l, err := s.Load(t.Context(), anesim.FromProgram(p))
	if err != nil {
		t.Fatal(err)
	}
	in := make([]half, c*h*w)
	for i := range in {
		in[i] = fp16(float32(i%7) - 3)[0]
	}
	input, output := slices.Collect(p.Inputs())[0].Name, slices.Collect(p.Outputs())[0].Name
	last := uint64(0)
	for rows := 1; rows <= h; rows++ {
		if err := l.Bind("rows", uint64(rows)); err != nil {
			t.Fatal(err)
		}
		if err := l.Set(input, in); err != nil {
			t.Fatal(err)
		}
		res := call(t, l)
		if len(res.Outputs) != 1 || res.Outputs[0].Port.Name != output {
			t.Fatalf("%d rows: outputs %v, faults %v", rows, res.Outputs, res.Report.Faults)
		}
		for i, got := range res.Outputs[0].Data {
			want := half(0) // rows grow from call to call: those beyond were never written
			if i/w%h < rows && in[i].Float32() > 0 {
				want = in[i]
			}
			if got != want {
				t.Fatalf("%d rows: element %d is %v, want %v", rows, i, got, want)
			}
		}
		if moved := res.Report.DMA.Total(); moved <= last {
			t.Errorf("%d rows move %d bytes, one less %d", rows, moved, last)
		} else {
			last = moved
		}
	}
	for _, v := range []uint64{0, h + 1, 1 << 40} {
		err := l.Bind("rows", v)
		var e *loader.RelocError
		if !errors.As(err, &e) || e.Width != 15 || e.Name != "rows" {
			t.Errorf("rows=%d: %v", v, err)
		}
	}
	var e *anesim.BindError
	if err := l.Bind("columns", 1); !errors.As(err, &e) || !slices.Equal(e.Have, []string{"rows"}) {
		t.Errorf("%v", err)
	}
	if got := call(t, l); got.Report.DMA.Total() != last {
		t.Error("a refused value changed the program")
	}
	res, err := anesim.FromProgram(p).Run(t.Context(), anesim.Options{Bind: map[string]uint64{"rows": 3}})
	if err != nil || res.Report.DMA.Total() >= last {
		t.Errorf("a run of three rows moves %v bytes: %v", res, err)
	}
	if _, err := anesim.Identity().Run(t.Context(), anesim.Options{Bind: map[string]uint64{"rows": 3}}); !errors.As(err, &e) {
		t.Errorf("a program without parameters: %v", err)
	}
}
