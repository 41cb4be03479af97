package engine_test

import (
	"bytes"
	"io"
	"testing"

	"anesim/bench"
	"anesim/firmware/engine"
	"anesim/hw/regs"
	"anesim/loader"
)

// A walkCounter counts the walks of a text that stays in its file: each begins at its start.
type walkCounter struct {
	io.ReaderAt
	walks int
}

func (c *walkCounter) ReadAt(b []byte, off int64) (int, error) {
	if off == 0 {
		c.walks++
	}
	return c.ReaderAt.ReadAt(b, off)
}

// A run walks its chain when it links the program and when it executes the tasks, with and
// without values. A second call of a loaded program does not link it again.
func TestRunsWalkTheChainTwice(t *testing.T) {
	const n = 500
	p, err := bench.LongChain(n)
	if err != nil {
		t.Fatal(err)
	}
	c := &walkCounter{ReaderAt: bytes.NewReader(p.Text)}
	q, err := (&loader.Options{InFile: true, FirstWords: p.FirstWords}).Read("chain", c, int64(len(p.Text)))
	if err != nil {
		t.Fatal(err)
	}
	if q.TextFile == nil {
		t.Fatal("the text does not stay in its file")
	}
	for _, values := range []bool{false, true} {
		c.walks = 0
		tasks := 0
		res, err := engine.Run(t.Context(), q, engine.Options{Values: values}, engine.Job{Executed: func(x *regs.Task) {
			if x.Operands == nil || *x.Operands != *x.Groups.Operands() {
				t.Errorf("task %d does not carry its operands", x.Index)
			}
			tasks++
		}})
		if err != nil {
			t.Fatal(err)
		}
		if values && len(res.Outputs) == 0 {
			t.Errorf("no values: faults %v", res.Report.Faults)
		}
		if c.walks != 2 || tasks != n {
			t.Errorf("values %v: %d walks of the chain and %d tasks, want 2 and %d", values, c.walks, tasks, n)
		}
		l := load(t, q, engine.Options{Values: values})
		c.walks = 0
		for range 2 {
			if _, err := l.Call(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if c.walks != 2 { // it was linked when it was loaded
			t.Errorf("values %v: two calls of a loaded program walk the chain %d times, want 2", values, c.walks)
		}
	}
}
