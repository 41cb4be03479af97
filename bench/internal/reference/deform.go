package reference

import (
	"anesim/bench/internal/reference/tensor"
	"fmt"
	"math"
)

// computeDeformConv computes a DeformConv by its definition: a convolution whose taps are sampled at
// their places plus offsets, bilinearly, with zeros around the image.
func computeDeformConv(c *call) (*tensor.Tensor, error) {
	x, f, offset := c.in[0], c.in[1], c.in[2]
	if len(x.Dims) != 4 || len(f.Dims) != 4 || len(offset.Dims) != 4 {
		return nil, fmt.Errorf("shapes %v, %v and %v; want 4 axes each", x.Dims, f.Dims, offset.Dims)
	}
	list := func(name string, values ...int) []int {
		if v := c.intsAttribute(name); len(v) == len(values) {
			return v
		}
		return values
	}
	strides, pads, dilations := list("strides", 1, 1), list("pads", 0, 0, 0, 0), list("dilations", 1, 1)
	groups, offsetGroups := c.intAttribute("group", 1), c.intAttribute("offset_group", 1)
	n, channels, h, w := x.Dims[0], x.Dims[1], x.Dims[2], x.Dims[3]
	outputs, each, kh, kw, oh, ow := f.Dims[0], f.Dims[1], f.Dims[2], f.Dims[3], offset.Dims[2], offset.Dims[3]
	if groups < 1 || offsetGroups < 1 || each*groups != channels || outputs%groups != 0 || channels%offsetGroups != 0 || offset.Dims[0] != n || offset.Dims[1] != 2*offsetGroups*kh*kw {
		return nil, fmt.Errorf("shapes %v, %v and %v do not fit %d groups and %d offset groups", x.Dims, f.Dims, offset.Dims, groups, offsetGroups)
	}
	mask, bias := c.inputTensor(4), c.inputTensor(3)
	if mask != nil && len(mask.Data)*2 != len(offset.Data) || bias != nil && len(bias.Data) != outputs {
		return nil, fmt.Errorf("mask or bias does not fit")
	}
	pixel := func(b, ch, y, x0 int) float64 {
		if y < 0 || y >= h || x0 < 0 || x0 >= w {
			return 0
		}
		return x.Data[((b*channels+ch)*h+y)*w+x0]
	}
	out, err := tensor.New(x.Type, n, outputs, oh, ow)
	if err != nil {
		return nil, err
	}
	for i := range out.Data {
		b, o, py, px := i/(outputs*oh*ow), i/(oh*ow)%outputs, i/ow%oh, i%ow
		sum := 0.0
		if bias != nil {
			sum = bias.Data[o]
		}
		for k := range each {
			ch := o/(outputs/groups)*each + k
			for t := range kh * kw {
				at := (b*offsetGroups+ch/(channels/offsetGroups))*kh*kw + t
				y := float64(py*strides[0]-pads[0]+t/kw*dilations[0]) + offset.Data[(2*at*oh+py)*ow+px]
				xx := float64(px*strides[1]-pads[1]+t%kw*dilations[1]) + offset.Data[((2*at+1)*oh+py)*ow+px]
				// Such a place is outside of any image, and its number might not fit an int. NaN is one of
				// them.
				if !(math.Abs(y) < 1e6 && math.Abs(xx) < 1e6) {
					continue
				}
				y0, x0 := int(math.Floor(y)), int(math.Floor(xx))
				dy, dx := y-float64(y0), xx-float64(x0)
				v := (1-dy)*((1-dx)*pixel(b, ch, y0, x0)+dx*pixel(b, ch, y0, x0+1)) + dy*((1-dx)*pixel(b, ch, y0+1, x0)+dx*pixel(b, ch, y0+1, x0+1))
				if mask != nil {
					v *= mask.Data[(at*oh+py)*ow+px]
				}
				sum += v * f.Data[(o*each+k)*kh*kw+t]
			}
		}
		out.Data[i] = sum
	}
	return out, nil
}
