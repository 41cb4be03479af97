package settle

import (
	"fmt"
	"slices"

	"anesim/internal/network/graph"
)

// expandAffineGrid rewrites an AffineGrid, which maps the positions of pixels or voxels by an affine
// matrix for each element of the batch, as a MatMul of the constant positions and the matrices.
func expandAffineGrid(e *expansion) error {
	d, err := e.Dims(0)
	if err != nil {
		return err
	}
	size, given, err := e.List("", 1)
	if err != nil || !given {
		return fmt.Errorf("size is missing or computed; want a constant: %v", err)
	}
	rank := len(size) - 2 // axes of the image
	if rank != 2 && rank != 3 || !slices.Equal(d, []int{size[0], rank, rank + 1}) {
		return fmt.Errorf("matrices have shape %v for size %v; want [%d, %d, %d]", d, size, size[0], rank, rank+1)
	}
	image := size[2:]
	for _, n := range image {
		if n < 1 || n > graph.MaxExtent {
			return fmt.Errorf("size is %v; want extents from 1 to %d", size, graph.MaxExtent)
		}
	}
	if err := e.budget.Spend(graph.NumberBytes, append(slices.Clone(image), rank+1)...); err != nil {
		return err
	}
	pixels := graph.Elements(image)
	steps := graph.Strides(image)
	positions := make([]float64, 0, pixels*(rank+1))
	for i := range pixels {
		for axis := rank - 1; axis >= 0; axis-- { // the coordinate of the last axis comes first
			k, n := float64(i/steps[axis]%image[axis]), float64(image[axis])
			v := (2*k+1)/n - 1
			if e.Int("align_corners", 0) != 0 {
				if v = -1; n > 1 {
					v = 2*k/(n-1) - 1
				}
			}
			positions = append(positions, v)
		}
		positions = append(positions, 1)
	}
	// Positions on the left, so that the constant is the same for all of the batch.
	t, err := e.emitTranspose(nil, e.Input(0), 0, 2, 1)
	if err != nil {
		return err
	}
	y, err := e.emitNode(nil, "MatMul", nil, e.newFloatConstant([]int{pixels, rank + 1}, positions), t)
	if err != nil {
		return err
	}
	_, err = e.emitReshape(e.outputTensor(0), y, append(append([]int{size[0]}, image...), rank)...)
	return err
}
