package lower_test

import (
	"errors"
	"fmt"

	"anesim/loader/internal/lower/join"
	"anesim/loader/layer"
	"anesim/loader/lower"
)

// A 3x3 convolution of 512 channels has more coefficients than the engines hold at a
// time: six descriptors share its output channels and one copy of its source.
func ExampleCompile() {
	in := layer.Shape{N: 1, C: 512, H: 16, W: 16}
	c, err := lower.Compile(layer.Conv(in, 512, layer.Same(3, 1, in)), layer.Weights{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, d := range c.Builder.Chain {
		fmt.Printf("descriptor %d at %#x: %d us\n", d.Index, d.Offset, d.Header.Timing.ExeCycles())
	}
	fmt.Printf("%d bytes of coefficients\n", len(c.Constants))
	// Output:
	// descriptor 0 at 0x0: 24 us
	// descriptor 1 at 0x300: 28 us
	// descriptor 2 at 0x600: 28 us
	// descriptor 3 at 0x900: 28 us
	// descriptor 4 at 0xc00: 28 us
	// descriptor 5 at 0xf00: 28 us
	// 4718592 bytes of coefficients
}

func ExampleLower() {
	p, err := lower.Lower(layer.Product(64, 256, 256, layer.Constant), layer.Weights{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range p.Ports {
		port := &p.Ports[i]
		fmt.Println(port.Name, port.Direction, port.Shape)
	}
	// Output:
	// x input [1 1 64 256]
	// y output [1 1 64 256]
}

// Three layers become one program; the tensor between them, which the sum reads as well,
// stands in the scratch buffer.
func ExampleNetwork_Join() {
	s := layer.Shape{N: 1, C: 64, H: 28, W: 28}
	conv, _ := join.NewPart(layer.Conv(s, 64, layer.Same(3, 1, s)), layer.Weights{})
	add, _ := join.NewPart(layer.Binary(layer.Add, s, s), layer.Weights{})
	net := join.Network{
		Inputs: []join.Tensor{{Name: "x", Shape: s}},
		Nodes: []join.Node{
			{Part: conv, Inputs: []string{"x"}, Output: "a"},
			{Part: conv, Inputs: []string{"a"}, Output: "b"},
			{Part: add, Inputs: []string{"a", "b"}, Output: "y"},
		},
		Outputs: []string{"y"},
	}
	j, err := net.Join()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(j.Builder.Chain), "descriptors")
	for _, r := range j.Nodes {
		fmt.Println("from", r.First, "on:", r.Tasks)
	}
	fmt.Println(len(j.Builder.Constants), "bytes of coefficients,", j.Builder.Scratch, "of scratch")
	// Output:
	// 3 descriptors
	// from 0 on: 1
	// from 1 on: 1
	// from 2 on: 1
	// 73728 bytes of coefficients, 0 of scratch
}

func ExampleLimitError() {
	in := layer.Shape{N: 1, C: 8, H: 64, W: 64}
	_, err := lower.Compile(layer.Conv(in, 8, layer.Valid(41, 1)), layer.Weights{})
	var limit *layer.LimitError
	if errors.As(err, &limit) {
		fmt.Println(limit.Limit)
		fmt.Println(limit.Nearest)
	}
	// Output:
	// kernel height
	// use at most 31 rows of taps
}
