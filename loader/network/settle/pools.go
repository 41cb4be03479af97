package settle

import (
	"cmp"
	"errors"
	"fmt"

	"anesim/loader/network/graph"
)

// expandLpPool rewrites an LpPool by means of an AveragePool multiplied by the size of the window.
// For p=1 the nodes sum magnitudes; for p=2 they take the square root of a sum of squares. It
// returns an error for any other p.
func expandLpPool(e *expansion) error {
	taps, ok, err := e.List("kernel_shape", -1)
	if err != nil || !ok {
		return cmp.Or(err, errors.New("kernel_shape is missing"))
	}
	p := e.Int("p", 2)
	a := e.attrsWithout("p")
	a["count_include_pad"] = intAttr(1)
	sum := []step{{"AveragePool", a, nil}, {"Mul", nil, []*graph.Value{nil, e.newNumber(float64(graph.Elements(taps)))}}}
	x := e.input(0)
	switch p {
	case 1:
		_, err = e.emitChain(e.output(0), x, append([]step{{"Abs", nil, nil}}, sum...)...)
	case 2:
		_, err = e.emitChain(e.output(0), x, append(append([]step{{"Mul", nil, []*graph.Value{nil, nil}}}, sum...), step{"Sqrt", nil, nil})...)
	default:
		err = fmt.Errorf("unsupported p=%d; want 1 or 2", p)
	}
	return err
}
