package reference

import (
	"anesim/bench/internal/reference/tensor"
	"fmt"
	"slices"
)

// convolutionOperators has the operators that slide a window of weights over a tensor.
var convolutionOperators = map[string]operator{
	"Conv": {2, wrapSingleResult(computeConv)}, "ConvTranspose": {2, wrapSingleResult(computeConvTranspose)},
}

// A window slides over the spatial axes of a tensor. At output index o, tap k of an axis
// reads input index o*stride + k*dilation - begin.
type window struct {
	in, kernel, out          []int
	strides, dilations       []int
	begin, end, outputExtras []int
}

// newWindow returns the window of an input with the spatial extents in and a kernel with the given
// extents, as the attributes strides, dilations, pads and output_padding describe it. It ignores
// auto_pad and does not set the output extents.
func (c *call) newWindow(in, kernel []int) (*window, error) {
	w := &window{in: in, kernel: kernel}
	rank := len(in)
	if rank == 0 || len(kernel) != rank {
		return nil, fmt.Errorf("kernel shape %v does not match spatial input shape %v; want equal ranks above 0", kernel, in)
	}
	for _, x := range []struct {
		to      *[]int
		name    string
		missing int
	}{{&w.strides, "strides", 1}, {&w.dilations, "dilations", 1}, {&w.outputExtras, "output_padding", 0}} {
		if *x.to = c.intsAttribute(x.name); len(*x.to) == 0 {
			*x.to = slices.Repeat([]int{x.missing}, rank)
		}
		if len(*x.to) != rank {
			return nil, fmt.Errorf("attribute %q is %v; want one value for each of %d spatial axes", x.name, *x.to, rank)
		}
		for _, v := range *x.to {
			// The bounds keep products of these numbers from overflowing.
			if v < x.missing || v > tensor.MaxElements {
				return nil, fmt.Errorf("attribute %q is %v; want values from %d to %d", x.name, *x.to, x.missing, tensor.MaxElements)
			}
		}
	}
	pads := c.intsAttribute("pads")
	if len(pads) == 0 {
		pads = make([]int, 2*rank)
	}
	if len(pads) != 2*rank {
		return nil, fmt.Errorf("attribute \"pads\" is %v; want two values for each of %d spatial axes", pads, rank)
	}
	for _, v := range pads {
		if v < 0 || v > tensor.MaxElements {
			return nil, fmt.Errorf("attribute \"pads\" is %v; want values from 0 to %d", pads, tensor.MaxElements)
		}
	}
	for _, v := range kernel {
		if v < 1 || v > tensor.MaxElements {
			return nil, fmt.Errorf("kernel has shape %v; want dimensions from 1 to %d", kernel, tensor.MaxElements)
		}
	}
	w.begin, w.end = pads[:rank:rank], pads[rank:]
	return w, nil
}

// dilatedExtent returns how many input elements the kernel spans along an axis, including the gaps
// of its dilation.
func (w *window) dilatedExtent(axis int) int { return (w.kernel[axis]-1)*w.dilations[axis] + 1 }

// newForwardWindow returns the window of a convolution or pooling for an input with the spatial
// extents in. Unlike newWindow, it resolves auto_pad and computes the output extents, which it
// rounds up if ceil_mode is set.
func (c *call) newForwardWindow(in, kernel []int) (*window, error) {
	w, err := c.newWindow(in, kernel)
	if err != nil {
		return nil, err
	}
	auto := c.textAttribute("auto_pad", "NOTSET")
	for i, n := range in {
		stride, reach := w.strides[i], w.dilatedExtent(i)
		switch auto {
		case "NOTSET", "":
		case "VALID":
			w.begin[i], w.end[i] = 0, 0
		case "SAME_UPPER", "SAME_LOWER":
			total := max(0, ((n+stride-1)/stride-1)*stride+reach-n)
			w.begin[i], w.end[i] = splitPadding(total, auto == "SAME_UPPER")
		default:
			return nil, fmt.Errorf("unknown auto_pad %q; want NOTSET, VALID, SAME_UPPER or SAME_LOWER", auto)
		}
		room := n + w.begin[i] + w.end[i] - reach
		if room < 0 {
			return nil, fmt.Errorf("dilated kernel size %d exceeds padded input size %d on spatial axis %d", reach, n+w.begin[i]+w.end[i], i)
		}
		out := room/stride + 1
		if c.flagAttribute("ceil_mode") {
			out = (room+stride-1)/stride + 1
			if (out-1)*stride >= n+w.begin[i] { // the last window would lie in the padding after the end
				out--
			}
		}
		w.out = append(w.out, out)
	}
	taps := 1.0
	for i := range w.kernel {
		taps *= float64(w.kernel[i]) * float64(w.out[i])
	}
	if taps > maxTaps {
		return nil, fmt.Errorf("kernel shape %v and output shape %v require more than %d element reads", w.kernel, w.out, maxTaps)
	}
	return w, nil
}

// maxTaps is the largest number of elements that the windows of one channel may read. Padding
// can make a kernel of any size fit.
const maxTaps = 1 << 32

// splitPadding divides total elements of padding between the two ends of an axis. An odd element
// goes to the end if oddAtEnd is true, and to the beginning otherwise.
func splitPadding(total int, oddAtEnd bool) (begin, end int) {
	if oddAtEnd {
		return total / 2, total - total/2
	}
	return total - total/2, total / 2
}

// forEachTapPair calls f for each output element whose input element at the given tap (position in
// the kernel) is not padding. The arguments of f are the indices of the two elements in their
// row-major planes.
func (w *window) forEachTapPair(tap []int, f func(out, in int)) {
	last := len(w.in) - 1
	width := w.out[last]
	rows := tensor.CountValidElements(w.out[:last])
	index := make([]int, last)
	for row := range rows {
		at, inside := 0, true
		for i, o := range index {
			k := o*w.strides[i] + tap[i]*w.dilations[i] - w.begin[i]
			inside = inside && k >= 0 && k < w.in[i]
			at = at*w.in[i] + k
		}
		if inside {
			for o := range width {
				if k := o*w.strides[last] + tap[last]*w.dilations[last] - w.begin[last]; k >= 0 && k < w.in[last] {
					f(row*width+o, at*w.in[last]+k)
				}
			}
		}
		tensor.AdvanceIndex(index, w.out)
	}
}

func computeConv(c *call) (*tensor.Tensor, error) {
	return c.convolve(c.in[0], c.in[1], c.inputTensor(2))
}

// convolve returns the convolution of x [batch][channels][...] with weights
// [outputs][channels/groups][...], plus a bias unless it is nil.
func (c *call) convolve(x, weights, bias *tensor.Tensor) (*tensor.Tensor, error) {
	rank := len(x.Dims)
	groups := c.intAttribute("group", 1)
	if rank < 3 || len(weights.Dims) != rank || groups < 1 || x.Dims[1] != weights.Dims[1]*groups || weights.Dims[0]%groups != 0 {
		return nil, fmt.Errorf("input shape %v is incompatible with weight shape %v for %d groups", x.Dims, weights.Dims, groups)
	}
	w, err := c.newForwardWindow(x.Dims[2:], weights.Dims[2:])
	if err != nil {
		return nil, err
	}
	outputs, channels := weights.Dims[0], x.Dims[1]
	y, err := tensor.New(x.Type, slices.Concat([]int{x.Dims[0], outputs}, w.out)...)
	if err != nil {
		return nil, err
	}
	if c.Reduce != nil {
		if y, err = y.AddChannelBias(bias); err == nil {
			reduceWindows(y, x, weights, w, groups, c.Reduce)
		}
		return y, err
	}
	plane, area, taps := tensor.CountValidElements(w.in), tensor.CountValidElements(w.out), tensor.CountValidElements(w.kernel)
	// The inputs of a tap are gathered once for all outputs of the group: a loop over the outputs outside
	// would compute their places again for each of them.
	line := make([]float64, area) // the inputs of a tap in one channel
	for n := range x.Dims[0] {
		for ch := range channels {
			in := x.Data[(n*channels+ch)*plane:][:plane]
			group, of := ch/weights.Dims[1], ch%weights.Dims[1]
			tap := make([]int, len(w.kernel))
			for k := range taps {
				clear(line)
				w.forEachTapPair(tap, func(out, at int) { line[out] = in[at] })
				for o := group * outputs / groups; o < (group+1)*outputs/groups; o++ {
					addScaledVector(y.Data[(n*outputs+o)*area:][:area], line, weights.Data[(o*weights.Dims[1]+of)*taps+k])
				}
				tensor.AdvanceIndex(tap, w.kernel)
			}
		}
	}
	return y.AddChannelBias(bias)
}

// reduceWindows adds the convolution of x with weights to y. The function reduce sums the products,
// as [Options].Reduce describes.
func reduceWindows(y, x, weights *tensor.Tensor, w *window, groups int, reduce func(acc, panel, taps []float64)) {
	plane, area, taps := tensor.CountValidElements(w.in), tensor.CountValidElements(w.out), tensor.CountValidElements(w.kernel)
	outputs, channels := weights.Dims[0]/groups, weights.Dims[1] // of a group
	panel := make([]float64, channels*taps*area)
	for n := range x.Dims[0] {
		for group := range groups {
			clear(panel)
			for ch := range channels {
				in := x.Data[(n*x.Dims[1]+group*channels+ch)*plane:][:plane]
				tap := make([]int, len(w.kernel))
				for k := range taps {
					line := panel[(ch*taps+k)*area:][:area]
					w.forEachTapPair(tap, func(out, at int) { line[out] = in[at] })
					tensor.AdvanceIndex(tap, w.kernel)
				}
			}
			for o := group * outputs; o < (group+1)*outputs; o++ {
				reduce(y.Data[(n*weights.Dims[0]+o)*area:][:area], panel, weights.Data[o*channels*taps:][:channels*taps])
			}
		}
	}
}

// computeConvTranspose computes ConvTranspose with weights [channels][outputs/groups][...]. It adds
// each input element, times the weights, to all outputs from which the corresponding convolution
// would compute that element.
func computeConvTranspose(c *call) (*tensor.Tensor, error) {
	x, weights := c.in[0], c.in[1]
	rank, groups := len(x.Dims), c.intAttribute("group", 1)
	if rank < 3 || len(weights.Dims) != rank || groups < 1 || x.Dims[1] != weights.Dims[0] || weights.Dims[0]%groups != 0 {
		return nil, fmt.Errorf("input shape %v is incompatible with weight shape %v for %d groups", x.Dims, weights.Dims, groups)
	}
	w, err := c.newTransposedWindow(x.Dims[2:], weights.Dims[2:])
	if err != nil {
		return nil, err
	}
	channels, outputsPerGroup := x.Dims[1], weights.Dims[1]
	outputs := outputsPerGroup * groups
	y, err := tensor.New(x.Type, slices.Concat([]int{x.Dims[0], outputs}, w.in)...)
	if err != nil {
		return nil, err
	}
	plane, area, taps := tensor.CountValidElements(w.out), tensor.CountValidElements(w.in), tensor.CountValidElements(w.kernel)
	line := make([]float64, plane)
	for n := range x.Dims[0] {
		for o := range outputs {
			to := y.Data[(n*outputs+o)*area:][:area]
			group := o / outputsPerGroup
			tap := make([]int, len(w.kernel))
			for k := range taps {
				clear(line)
				for ch := group * channels / groups; ch < (group+1)*channels/groups; ch++ {
					addScaledVector(line, x.Data[(n*channels+ch)*plane:][:plane], weights.Data[(ch*outputsPerGroup+o%outputsPerGroup)*taps+k])
				}
				// Input and output change their roles: the window is that of the convolution in the other
				// direction.
				w.forEachTapPair(tap, func(out, in int) { to[in] += line[out] })
				tensor.AdvanceIndex(tap, w.kernel)
			}
		}
	}
	return y.AddChannelBias(c.inputTensor(2))
}

// newTransposedWindow returns the window of a transposed convolution whose input has the spatial
// extents in. It describes the corresponding forward convolution: its field in has the extents of
// the transposed output, and its field out those of the transposed input.
func (c *call) newTransposedWindow(in, kernel []int) (*window, error) {
	w, err := c.newWindow(in, kernel)
	if err != nil {
		return nil, err
	}
	w.in, w.out = make([]int, len(in)), in
	auto, want := c.textAttribute("auto_pad", "NOTSET"), c.intsAttribute("output_shape")
	if len(want) == len(in)+2 { // batch and channels first
		want = want[2:]
	}
	if len(want) != 0 && len(want) != len(in) {
		return nil, fmt.Errorf("attribute \"output_shape\" is %v; want one value for each of %d spatial axes", want, len(in))
	}
	for i, n := range in {
		full := w.strides[i]*(n-1) + w.outputExtras[i] + w.dilatedExtent(i)
		switch {
		case len(want) > 0:
			w.in[i] = want[i]
			w.begin[i], w.end[i] = splitPadding(max(0, full-want[i]), auto == "SAME_UPPER")
		case auto == "SAME_UPPER" || auto == "SAME_LOWER":
			w.in[i] = n * w.strides[i]
			w.begin[i], w.end[i] = splitPadding(max(0, full-w.in[i]), auto == "SAME_UPPER")
		case auto == "NOTSET" || auto == "" || auto == "VALID":
			if auto == "VALID" {
				w.begin[i], w.end[i] = 0, 0
			}
			w.in[i] = full - w.begin[i] - w.end[i]
		default:
			return nil, fmt.Errorf("unknown auto_pad %q; want NOTSET, VALID, SAME_UPPER or SAME_LOWER", auto)
		}
		if w.in[i] < 1 {
			return nil, fmt.Errorf("spatial axis %d of the output has size %d; want at least 1", i, w.in[i])
		}
	}
	return w, nil
}
