package explain_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"anesim"
	"anesim/internal/explain"
)

// No part of a model works for fewer cycles than its floors: those in which the whole array does
// its multiply-accumulates, and in which memory moves its bytes. Its own cycles are fewer only if it
// overlaps with others.
func TestPartsReachTheirFloors(t *testing.T) {
	t.Parallel()
	var models []*anesim.Model
	files, err := filepath.Glob("../../tools/anesim/examples/*.*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if m, err := anesim.Open(file); err == nil {
			models = append(models, m)
		}
	}
	if len(models) < 5 {
		t.Fatalf("%d models among the examples, want more", len(models))
	}
	r := rand.New(rand.NewPCG(8, 49))
	forms := []string{
		"conv cin=C h=H w=W cout=N k=3 pad=1", "conv cin=C h=H w=W cout=N k=1",
		"conv cin=C h=H w=W cout=C k=3 pad=1 groups=C", "deconv cin=C h=H w=W cout=N k=2 stride=2",
		"deconv cin=C h=H w=W cout=N k=4 stride=2 pad=1", "deconv cin=C h=H w=W cout=N k=3 stride=3",
		"relu c=C h=H w=W", "sigmoid c=C h=H w=W", "add c=C h=H w=W", "softmax c=C h=H w=W axis=c",
		"softmax c=C h=H w=W axis=w", "layernorm c=C h=1 w=W", "pool c=C h=H w=W k=2 stride=2",
		"reduce c=C h=H w=W kind=sum axis=c", "transpose c=C h=H w=W", "matmul m=C k=H n=N", "linear m=C k=H n=N",
		"elu c=C h=H w=W", "softsign c=C h=H w=W", "prelu c=C h=H w=W", "concat h=H w=W parts=C+N",
	}
	made := map[string]int{}
	for i := range 20 * len(forms) {
		form := forms[i%len(forms)]
		size := func(from, to int) string { return strconv.Itoa(from + r.IntN(to)) }
		words := strings.Fields(strings.NewReplacer("C", size(1, 128), "H", size(2, 40), "W", size(2, 40), "N", size(1, 128)).Replace(form))
		m, err := anesim.Layer(words[0], words[1:]...)
		if err != nil {
			continue
		}
		made[form]++
		models = append(models, m)
	}
	for _, form := range forms {
		if made[form] == 0 {
			t.Errorf("no layer of the form %q", form)
		}
	}
	for range 60 {
		var b strings.Builder
		fmt.Fprintf(&b, "inputs: {x: {c: %d, h: %d, w: %d}}\nlayers:\n", 1+r.IntN(64), 1+r.IntN(32), 1+r.IntN(32))
		ops := []string{"relu", "sigmoid", "conv, cout: 16, k: 3, pad: 1", "conv, cout: 64, k: 1", "softmax, axis: c", "softmax, axis: w", "pool, k: 2, stride: 1", "deconv, cout: 8, k: 2, stride: 2", "elu", "reduce, kind: max, axis: c", "transpose"}
		for i := range 2 + r.IntN(12) {
			if fmt.Fprintf(&b, "  - {op: %s}\n", ops[r.IntN(len(ops))]); i > 0 && r.IntN(3) == 0 {
				fmt.Fprintf(&b, "  - {op: relu, name: r%d}\n  - {op: relu, name: s%[1]d}\n  - {op: add, from: [r%[1]d, s%[1]d]}\n", i)
			}
		}
		if m, err := anesim.Read("net.yaml", strings.NewReader(b.String()), int64(b.Len())); err == nil {
			models = append(models, m)
		}
	}
	t.Logf("%d models", len(models))
	for _, m := range models {
		x, err := explain.Explain(t.Context(), m, anesim.Options{}, explain.Options{Work: 1})
		if err != nil {
			t.Errorf("%s: %v", m.Name(), err)
			continue
		}
		res, err := m.Run(t.Context(), anesim.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range res.Report.Descriptors {
			d := &res.Report.Descriptors[i]
			if rate := float64(d.DMA.Total()) / float64(d.Working()); rate > 68.001 {
				t.Errorf("%s: td %d %v moves %.1f GB/s: %+v in %v, working %v, cycles %d", m.Name(), i, d.Op, rate, d.DMA, d.Time, d.Working(), d.Cycles.Total())
			}
		}
		for _, p := range x.Parts {
			if floor := max(p.ArrayCycles, p.MemoryCycles); p.WorkingCycles+1 < floor {
				t.Errorf("%s: %s works for %d cycles (%d of its own), below its floor: %d for the array, %d for memory", m.Name(), p.Name, p.WorkingCycles, p.Cycles.Total, p.ArrayCycles, p.MemoryCycles)
			}
		}
	}
}
