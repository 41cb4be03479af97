package settle

import (
	"fmt"

	"anesim/internal/network/graph"
)

// expandCol2Im rewrites a Col2Im, which adds the columns of blocks up to an image, as a transposed
// convolution of each channel. The elements of a block are its channels, and the weights put each
// one in its place in the block.
func expandCol2Im(e *expansion) error {
	d, err := e.Dims(0)
	if err != nil {
		return err
	}
	image, _, err := e.List("", 1)
	if err != nil {
		return err
	}
	block, _, err := e.List("", 2)
	if err != nil {
		return err
	}
	rank := len(image)
	strides, dilations, pads, err := e.windowLists(rank)
	if err != nil {
		return err
	}
	for i, k := range block {
		if k < 1 || k > graph.MaxExtent {
			return fmt.Errorf("axis %d of a block has extent %d; want 1 to %d", i, k, graph.MaxExtent)
		}
	}
	size := graph.Elements(block)
	if rank == 0 || len(block) != rank || len(d) != 3 || d[1]%max(1, size) != 0 {
		return fmt.Errorf("input has shape %v for blocks of %v in an image of %v; want [batch, channels times block, blocks]", d, block, image)
	}
	channels := d[1] / size
	blocks, extra := []int{d[0], d[1]}, make([]int, rank)
	count := 1
	for i, k := range block {
		reach := image[i] + pads[i] + pads[rank+i] - dilations[i]*(k-1) - 1
		if reach < 0 {
			return fmt.Errorf("axis %d of the image has extent %d; a block is larger", i, image[i])
		}
		n := reach/strides[i] + 1
		blocks, count = append(blocks, n), count*n
		// Elements after the last block stay zero. output_padding keeps their rows in the result.
		extra[i] = reach % strides[i]
	}
	if count != d[2] {
		return fmt.Errorf("input has %d blocks; want %d", d[2], count)
	}
	if err := e.budget.Spend(graph.NumberBytes, d[1], size); err != nil {
		return err
	}
	weights := make([]float64, d[1]*size)
	for i := range d[1] {
		// An identity for each channel: element k of a block goes to place k, and the transposed
		// convolution adds where blocks overlap.
		weights[i*size+i%size] = 1
	}
	x, err := e.emitReshape(nil, e.Input(0), blocks...)
	if err != nil {
		return err
	}
	_, err = e.emitNode(e.outputTensor(0), "ConvTranspose", attributes{
		"group": newIntAttr(channels), "kernel_shape": newIntsAttr(block...), "strides": newIntsAttr(strides...), "dilations": newIntsAttr(dilations...),
		"pads": newIntsAttr(pads...), "output_padding": newIntsAttr(extra...),
	}, x, e.newFloatConstant(append([]int{d[1], 1}, block...), weights))
	return err
}

// windowLists returns the attributes strides, dilations and pads of a node with windows along the
// given number of axes, or their defaults: 1, 1 and 0.
func (e *expansion) windowLists(rank int) (strides, dilations, pads []int, err error) {
	for _, a := range [...]struct {
		name           string
		list           *[]int
		count          int
		least, omitted int
	}{{"strides", &strides, rank, 1, 1}, {"dilations", &dilations, rank, 1, 1}, {"pads", &pads, 2 * rank, 0, 0}} {
		v, given, err := e.List(a.name, -1)
		if err != nil {
			return nil, nil, nil, err
		}
		if !given {
			for range a.count {
				v = append(v, a.omitted)
			}
		}
		if len(v) != a.count {
			return nil, nil, nil, fmt.Errorf("attribute %q has %d elements; want %d", a.name, len(v), a.count)
		}
		for _, x := range v {
			if x < a.least || x > graph.MaxExtent {
				return nil, nil, nil, fmt.Errorf("attribute %q is %v; want numbers from %d to %d", a.name, v, a.least, graph.MaxExtent)
			}
		}
		*a.list = v
	}
	return strides, dilations, pads, nil
}
