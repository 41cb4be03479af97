package randomgraph

import (
	"anesim/internal/network/onnx"
)

// addMicrosoftOperator adds an operator of the domain com.microsoft, as onnxruntime writes it when it
// fuses nodes. It returns false if the operator does not fit x.
func addMicrosoftOperator(b *builder, x string) bool {
	v := b.findValue(x)
	n := len(v.Dims)
	if n == 0 || b.tensorMagnitude(x) > 60 {
		return false
	}
	last := v.Dims[n-1]
	activated := v.WithRange(-2.5, max(0, v.High)+2)
	op := pickRandom(b, "FusedMatMul", "FusedMatMul", "QuickGelu", "FastGelu", "BiasGelu", "SkipLayerNormalization", "SkipSimplifiedLayerNormalization")
	switch op {
	case "FusedMatMul":
		return addFusedMatMul(b, x)
	case "QuickGelu":
		b.addNode(op, []string{x}, activated, newFloatAttribute("alpha", pickRandom(b, float32(1.702), 1, 0.5)))
	case "FastGelu":
		in := []string{x}
		if b.randomBool(50) {
			in = append(in, b.addAddendConstant(last))
		}
		b.addNode(op, in, activated)
	case "BiasGelu":
		b.addNode(op, []string{x, b.addAddendConstant(last)}, activated)
	default:
		// The norm of few elements has no precise result.
		if n != 3 || last < 4 {
			return false
		}
		in := []string{x, b.addAddendConstant(v.Dims...), b.addFactorConstant(last)}
		if op == "SkipLayerNormalization" && b.randomBool(60) {
			in = append(in, b.addAddendConstant(last))
		}
		b.addNode(op, in, v.WithRange(-20, 20), newFloatAttribute("epsilon", 0.0625))
	}
	b.graph.Nodes[len(b.graph.Nodes)-1].Domain = "com.microsoft"
	return true
}

// addFusedMatMul adds FusedMatMul of x and constant weights, with either operand transposed and
// often a factor.
func addFusedMatMul(b *builder, x string) bool {
	v := b.findValue(x)
	n := len(v.Dims)
	if n < 2 {
		return false
	}
	transA, transB := b.rng.IntN(2), b.rng.IntN(2)
	rows, k, columns := v.Dims[n-2], v.Dims[n-1], b.randomExtent(20)
	if transA == 1 {
		rows, k = k, rows
	}
	shape := []int{k, columns}
	if transB == 1 {
		shape = []int{columns, k}
	}
	dims := append(append([]int{}, v.Dims[:n-2]...), rows, columns)
	if onnx.Elements(dims) > maxElements || onnx.Elements(dims)*k > maxProducts {
		return false
	}
	w := b.addWeightConstant(k, shape...)
	out := b.describeProductSum(v, w, k, dims)
	if out.High > maxMagnitude {
		return false
	}
	b.addNode("FusedMatMul", []string{x, w}, out, newIntAttribute("transA", transA), newIntAttribute("transB", transB), newFloatAttribute("alpha", pickRandom(b, float32(1), 0.5, -1)))
	b.graph.Nodes[len(b.graph.Nodes)-1].Domain = "com.microsoft"
	return true
}
