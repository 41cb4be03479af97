package reference

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"anesim/bench/internal/reference/tensor"
	"anesim/internal/network/onnx"
)

// computeNonMaxSuppression computes NonMaxSuppression: for each class it selects boxes in
// descending order of their scores, and skips boxes that overlap a selected one by more than a
// threshold.
func computeNonMaxSuppression(c *call) (*tensor.Tensor, error) {
	boxes, scores := c.in[0], c.in[1]
	if len(boxes.Dims) != 3 || len(scores.Dims) != 3 || boxes.Dims[2] != 4 || boxes.Dims[0] != scores.Dims[0] || boxes.Dims[1] != scores.Dims[2] {
		return nil, fmt.Errorf("boxes and scores have shapes %v and %v; want [batch][boxes][4] and [batch][classes][boxes]", boxes.Dims, scores.Dims)
	}
	// The default of boxes per class is 0, which selects nothing; ONNX defines it so.
	limits := [3]float64{0, 0, math.Inf(-1)} // boxes of a class, overlap, score
	for i := range limits {
		if t := c.inputTensor(2 + i); t != nil {
			if len(t.Data) != 1 {
				return nil, fmt.Errorf("input %d has shape %v; want a scalar", 2+i, t.Dims)
			}
			limits[i] = t.Data[0]
		}
	}
	n, classes := boxes.Dims[1], scores.Dims[1]
	var rows []float64
	for at := range boxes.Dims[0] * classes {
		image, class := at/classes, at%classes
		score := scores.Data[at*n : (at+1)*n]
		var order, selected []int
		for i, s := range score {
			if s > limits[2] {
				order = append(order, i)
			}
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(score[b], score[a]) })
		center := c.flagAttribute("center_point_box")
		corners := func(i int) [4]float64 { return boxCorners(boxes.Data[(image*n+i)*4:][:4], center) }
		for _, i := range order {
			if float64(len(selected)) >= limits[0] {
				break
			}
			if !slices.ContainsFunc(selected, func(k int) bool { return intersectionOverUnion(corners(i), corners(k)) > limits[1] }) {
				selected = append(selected, i)
				rows = append(rows, float64(image), float64(class), float64(i))
			}
		}
	}
	return &tensor.Tensor{Type: onnx.Int64, Dims: []int{len(rows) / 3, 3}, Data: rows}, nil
}

// boxCorners returns the smallest y and x, followed by the largest y and x, of a box. If center is
// true, box holds the x and y of the center, the width and the height; otherwise it holds the y and
// x of two opposite corners.
func boxCorners(box []float64, center bool) [4]float64 {
	if center {
		x, y, w, h := box[0], box[1], box[2], box[3]
		return [4]float64{y - h/2, x - w/2, y + h/2, x + w/2}
	}
	return [4]float64{min(box[0], box[2]), min(box[1], box[3]), max(box[0], box[2]), max(box[1], box[3])}
}

// intersectionOverUnion returns the area of the intersection of two boxes divided by the area
// of their union, or 0 if they do not intersect.
func intersectionOverUnion(a, b [4]float64) float64 {
	h, w := min(a[2], b[2])-max(a[0], b[0]), min(a[3], b[3])-max(a[1], b[1])
	if h <= 0 || w <= 0 {
		return 0
	}
	area := func(r [4]float64) float64 { return (r[2] - r[0]) * (r[3] - r[1]) }
	return h * w / (area(a) + area(b) - h*w)
}
