package settle

import (
	"errors"
	"fmt"
	"slices"

	"anesim/internal/network/graph"
	"anesim/loader/network/internal/ops"
)

// expandTensorScatter rewrites a TensorScatter, which writes an update into a cache at one position
// for each sequence of the batch, as slices of both and concatenations. The positions must be
// constants; without them, all are 0.
func expandTensorScatter(e *expansion) error {
	cache, err := e.Dims(0)
	if err != nil {
		return err
	}
	update, err := e.Dims(1)
	if err != nil {
		return err
	}
	axis, err := ops.Axis(len(cache), e.Int("axis", -2))
	if err != nil {
		return err
	}
	if len(update) != len(cache) || axis == 0 || update[axis] > cache[axis] || update[axis] == 0 {
		return fmt.Errorf("update of shape %v does not fit a cache of shape %v", update, cache)
	}
	mode := e.Text("mode", "linear")
	if mode != "linear" && mode != "circular" {
		return fmt.Errorf("unknown mode %q; want linear or circular", mode)
	}
	at := make([]int, cache[0])
	if e.Given(2) {
		c := e.Const(2)
		if c == nil {
			return errors.New("positions are computed; want constants")
		}
		if at, err = c.Ints(); err != nil {
			return err
		}
	}
	if len(at) != cache[0] || e.copied+len(at) > maxUnrolled {
		return fmt.Errorf("%d positions for a batch of %d", len(at), cache[0])
	}
	e.copied += len(at)
	// Equal positions, the usual case, need one concatenation for the whole batch.
	equal := !slices.ContainsFunc(at, func(p int) bool { return p != at[0] })
	var rows []*graph.Value
	for b, p := range at {
		if p < 0 || p > cache[axis] || mode == "linear" && p > cache[axis]-update[axis] {
			return fmt.Errorf("position %d of an update of %d is outside of a cache of %d", p, update[axis], cache[axis])
		}
		if equal && b > 0 {
			break
		}
		in := [2]*graph.Value{e.Input(0), e.Input(1)}
		if !equal {
			for i, v := range in {
				if in[i], err = e.emitSlice(v, 0, b, b+1); err != nil {
					return err
				}
			}
		}
		// In circular mode, the position after the last is the first.
		row, err := e.overwrite(in[0], in[1], axis, p%cache[axis])
		if err != nil {
			return err
		}
		rows = append(rows, row)
	}
	if len(rows) == 1 {
		_, err = e.emitNode(e.outputTensor(0), "Identity", nil, rows[0])
	} else {
		_, err = e.emitNode(e.outputTensor(0), "Concat", attributes{"axis": newIntAttr(0)}, rows...)
	}
	return err
}

// overwrite emits nodes that replace the elements of x from position p of an axis on by update. The
// part that exceeds x continues at its start.
func (e *expansion) overwrite(x, update *graph.Value, axis, p int) (*graph.Value, error) {
	size, n := x.Dims[axis], update.Dims[axis]
	var parts []*graph.Value
	for _, part := range [...]struct {
		from       *graph.Value
		begin, end int
	}{{update, size - p, n}, {x, max(0, p+n-size), p}, {update, 0, min(n, size-p)}, {x, p + n, size}} {
		if part.begin >= part.end {
			continue
		}
		v, err := e.emitSlice(part.from, axis, part.begin, part.end)
		if err != nil {
			return nil, err
		}
		parts = append(parts, v)
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	return e.emitNode(nil, "Concat", attributes{"axis": newIntAttr(axis)}, parts...)
}

// emitSlice emits a Slice of one axis of x, unless it keeps all of x, and returns the result.
func (e *expansion) emitSlice(x *graph.Value, axis, begin, end int) (*graph.Value, error) {
	if begin == 0 && end == x.Dims[axis] {
		return x, nil
	}
	return e.emitNode(nil, "Slice", attributes{"axes": newIntsAttr(axis), "starts": newIntsAttr(begin), "ends": newIntsAttr(end)}, x)
}
