package anesim

import (
	"bytes"
	"testing"

	"anesim/loader/lower"
)

// twoProcedures is a container of two: "double" adds x.x to x.z, "relu" is of r.x.
func twoProcedures(t *testing.T) *Model {
	t.Helper()
	shape := lower.Shape{N: 1, C: 4, H: 1, W: 8}
	first, err := lower.Compile(lower.Binary(lower.Add, shape, shape), lower.Weights{})
	if err != nil {
		t.Fatal(err)
	}
	second, err := lower.Compile(lower.Unary(lower.ReLU, shape), lower.Weights{})
	if err != nil {
		t.Fatal(err)
	}
	for prefix, b := range map[string]*lower.Lowered{"a.": first, "r.": second} {
		for i := range b.Builder.Ports {
			b.Builder.Ports[i].Name = prefix + b.Builder.Ports[i].Name
		}
	}
	first.Builder.Procedure, second.Builder.Procedure = "add", "relu"
	first.Builder.Also = append(first.Builder.Also, second.Builder)
	c, err := first.Builder.Container()
	if err != nil {
		t.Fatal(err)
	}
	file := c.Bytes()
	m, err := Read("two.hwx", bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	return m
}
