package ops

import (
	"fmt"
	"math"
	"slices"

	"anesim/internal/network/graph"
)

// IsQONNX reports whether domain is one of the names of the domain of QONNX, an exchange format for
// networks of few bits. Its operators round float tensors, which stay float tensors.
func IsQONNX(domain string) bool {
	return slices.Contains([]string{"qonnx.custom_op.general", "finn.custom_op.general", "onnx.brevitas"}, domain)
}

func isQuant(op string) bool { return op == "Quant" || op == "BipolarQuant" }

// QuantRange returns the smallest and the largest integer of a Quant node. The number of bits, in its
// fourth input, must be one constant.
func QuantRange(n *graph.Node) (low, high float64, err error) {
	c := n.Const(3)
	if c == nil {
		return 0, 0, fmt.Errorf("number of bits is missing or computed; want a constant")
	}
	bits, err := c.Scalar()
	if err != nil {
		return 0, 0, err
	}
	if !(bits >= 1 && bits <= 32) {
		return 0, 0, fmt.Errorf("number of bits is %g; want 1 to 32", bits)
	}
	span, narrow := math.Exp2(bits), float64(min(1, max(0, n.Int("narrow", 0))))
	if n.Int("signed", 1) != 0 {
		return narrow - span/2, span/2 - 1, nil
	}
	return 0, span - 1 - narrow, nil
}

// foldQuant rounds constants, such as weights, as a Quant node does.
func foldQuant(n *graph.Node, res []graph.Result) ([]*graph.Const, error) {
	if !IsQONNX(n.Domain) {
		return nil, nil
	}
	low, high, err := QuantRange(n)
	if err != nil {
		return nil, err
	}
	round := map[string]func(float64) float64{"ROUND": math.RoundToEven, "CEIL": math.Ceil, "FLOOR": math.Floor, "ROUND_TO_ZERO": math.Trunc}[n.Text("rounding_mode", "ROUND")]
	if round == nil {
		return nil, fmt.Errorf("unknown rounding mode %q", n.Text("rounding_mode", "ROUND"))
	}
	in, err := readOperands(n, 3)
	if err != nil {
		return nil, err
	}
	dims := res[0].Dims
	for _, x := range in[1:] {
		if d, err := graph.Broadcast(dims, x.dims); err != nil || !slices.Equal(d, dims) {
			return nil, fmt.Errorf("scale or zero point of shape %v does not broadcast to %v", x.dims, dims)
		}
	}
	out := make([]float64, len(in[0].numbers))
	for i, x := range in[0].numbers {
		scale, zero := in[1].numbers[broadcastOffset(i, dims, in[1].dims)], in[2].numbers[broadcastOffset(i, dims, in[2].dims)]
		out[i] = (round(min(max(x/scale+zero, low), high)) - zero) * scale
	}
	return newResultConst(res, out), nil
}
