package coeff

import (
	"fmt"

	"github.com/x448/float16"

	"anesim/hw/regs"
	"anesim/internal/datapath/lanes"
	"anesim/loader/layer"
)

// A Layout locates the weights of a descriptor in the constants of its program, so that they can be
// replaced. It supports dense fp16 weights, and zero-skipping weights of a 1x1 window. The hashes
// of weights in the vendor's programs confirm the order of both kinds.
type Layout struct {
	Groups, Channels int // per group
	Taps             int // per channel: input channels times taps of the window
	Bias             bool

	weights ChannelWeights
	width   int
	lanes   []laneSpan // places in the constants
	sparse  bool       // zero-skipping form of a 1x1 window
}

// A laneSpan is the place of a lane in the constants.
type laneSpan struct{ base, size uint64 }

// A LayoutError reports that the weights of a descriptor cannot be replaced, because their order is
// not known or the new values do not fit.
type LayoutError struct {
	What string
}

func (e *LayoutError) Error() string { return "weights: " + e.What }

func newLayoutError(format string, args ...any) error {
	return &LayoutError{fmt.Sprintf(format, args...)}
}

// ReadLayout computes the layout of a descriptor's weights from its header h and its registers g. The
// weights are in buffer bar of the program.
// The error is a *LayoutError if the descriptor has no constant weights or if their order is not
// known.
func ReadLayout(h *regs.Header, g *regs.Groups, bar int) (*Layout, error) {
	refuse := func(format string, args ...any) (*Layout, error) { return nil, newLayoutError(format, args...) }
	c, n := &g.Common, &g.NE
	v := c.ConvCfg
	taps := int(v.Kh()) * int(v.Kw())
	switch {
	case g.Planar() || n.MACCfg.OpMode() != regs.MultiplyAccumulate:
		return refuse("descriptor does not multiply by weights")
	case !h.KernelBases.KBE0() || int(h.KernelBases.KBase0()) != bar:
		return refuse("kernel DMA does not read the program's constants")
	case n.KernelCfg.KernelFmt() != regs.FormatFP16:
		return refuse("format is %v; want fp16", n.KernelCfg.KernelFmt())
	case n.KernelCfg.PalEn():
		return refuse("format is a palette; want fp16")
	case n.KernelCfg.Sparse() && !isSparsePointwise(g):
		return refuse("unsupported zero-skipping convolution; want 1x1, stride 2, one group, not depthwise, and a multiple of %d output channels", lanes.Count)
	// No program shows these orders. A wrong guess would scramble weights without a word.
	case taps > 1 && (v.Sx() > 1 || v.Sy() > 1):
		return refuse("weight order is unknown for a %dx%d window with a stride", v.Kh(), v.Kw())
	case v.Ox() > 1 || v.Oy() > 1:
		return refuse("weight order is unknown for a task with several outputs per step")
	}
	l := &Layout{Groups: g.GroupCount(), Channels: int(c.Cout.Cout()), Bias: n.MACCfg.BiasMode()}
	if c.GroupConvCfg.UnicastEn() {
		if c.GroupConvCfg.UnicastCin() != 1 {
			return refuse("depthwise convolution reads %d input channels per output channel; want 1", c.GroupConvCfg.UnicastCin())
		}
		l.Taps = taps
	} else {
		l.Taps = taps * int(c.Cin.Cin())
	}
	l.width = lanes.Most(g, l.Taps)
	if l.Channels < 1 || l.Taps < 1 || uint64(l.Groups)*uint64(l.Channels)*uint64(l.Taps) > maxCoefficients {
		return refuse("found %d groups of %d channels with %d weights each; want 1 to %d weights in total", l.Groups, l.Channels, l.Taps, maxCoefficients)
	}
	for i, d := range g.KernelDMASrc.CoeffDMAConfig {
		if d.En() {
			k := &g.KernelDMASrc
			l.lanes = append(l.lanes, laneSpan{uint64(k.CoeffBaseAddr[i].Bytes()), uint64(k.CoeffBfrSize[i].Bytes())})
		}
	}
	l.weights = ChannelWeights{Groups: l.Groups, Channels: l.Channels, Taps: l.Taps}
	l.weights.Weight = func(_, _, _ int) float16.Float16 { return 0 }
	if l.Bias {
		l.weights.Bias = func(_, _ int) float16.Float16 { return 0 }
	}
	if l.sparse = n.KernelCfg.Sparse(); l.sparse {
		return l, nil // the size of a lane depends on its values
	}
	// Packing zeros gives the sizes that this layout would have. Any other size means that the guess is
	// wrong.
	k := l.weights.Pack(l.width)
	if len(k.Lanes) != len(l.lanes) {
		return refuse("descriptor enables %d lanes; want %d for %d channels of %d weights", len(l.lanes), len(k.Lanes), l.Channels, l.Taps)
	}
	for i := range k.Lanes {
		if uint64(k.Lanes[i].Size) != l.lanes[i].size {
			return refuse("lane %d has %d bytes; want %d for its channels", i, l.lanes[i].size, k.Lanes[i].Size)
		}
	}
	return l, nil
}

// maxCoefficients limits the number of weights in a descriptor to the size of the compiler's
// kernel section.
const maxCoefficients = 128 << 20 / layer.ElementBytes

// Weights returns the number of weights, which is the number of values that [Layout.SetWeights]
// expects. Their order is [group][channel][input channel][row][column].
func (l *Layout) Weights() int { return l.Groups * l.Channels * l.Taps }

// biases returns the number of biases: one for each output channel of each group, or 0 if the
// descriptor has none.
func (l *Layout) biases() int {
	if !l.Bias {
		return 0
	}
	return l.Groups * l.Channels
}

// shape returns the numbers of output channels and of weights as text, such as "64 channels of 9
// weights".
func (l *Layout) shape() string {
	return fmt.Sprintf("%d channels of %d weights", l.Groups*l.Channels, l.Taps)
}

// SetWeights replaces the weights of the descriptor in constants, the constants of a program. The
// order of values is that of [Layout.Weights]. Biases and padding do not change. SetWeights returns
// a *LayoutError if len(values) is not l.Weights(), or if the values cannot be encoded in the same
// place.
func (l *Layout) SetWeights(constants []byte, values []float16.Float16) error {
	if len(values) != l.Weights() {
		return &LayoutError{fmt.Sprintf("found %d weights; want %d (%s)", len(values), l.Weights(), l.shape())}
	}
	if l.sparse {
		return l.setSparseWeights(constants, values, nil)
	}
	at := func(g, n, k int) float16.Float16 { return values[(g*l.Channels+n)*l.Taps+k] }
	ones := func(_, _, _ int) float16.Float16 { return 0xffff }
	return l.mergeMaskedBits(constants, l.packValues(at, nil), l.packValues(ones, nil))
}

// SetBiases replaces the biases of the descriptor in constants, the constants of a program. It
// returns a *LayoutError if there are no biases or if len(values) is not l.Biases().
func (l *Layout) SetBiases(constants []byte, values []float16.Float16) error {
	if !l.Bias {
		return &LayoutError{"the descriptor has no biases"}
	}
	if len(values) != l.biases() {
		return &LayoutError{fmt.Sprintf("found %d biases; want %d", len(values), l.biases())}
	}
	if l.sparse {
		return l.setSparseWeights(constants, nil, values)
	}
	at := func(g, n int) float16.Float16 { return values[g*l.Channels+n] }
	ones := func(_, _ int) float16.Float16 { return 0xffff }
	return l.mergeMaskedBits(constants, l.packValues(nil, at), l.packValues(nil, ones))
}

// packValues packs weight(g, n, k) for each tap k of channel n of group g, and bias(g, n), in the
// order of the layout. If weight or bias is nil, zeros take its place.
func (l *Layout) packValues(weight func(g, n, k int) float16.Float16, bias func(g, n int) float16.Float16) *Kernel {
	f := l.weights
	if weight != nil {
		f.Weight = weight
	}
	if bias != nil {
		f.Bias = bias
	}
	return f.Pack(l.width)
}

// mergeMaskedBits overwrites the bits of constants that are set in mask with those of values. It
// returns a *LayoutError if a lane extends past the constants.
func (l *Layout) mergeMaskedBits(constants []byte, values, mask *Kernel) error {
	for _, s := range l.lanes {
		if s.base > uint64(len(constants)) || s.size > uint64(len(constants))-s.base {
			return &LayoutError{fmt.Sprintf("lane of %#x bytes at %#x extends past the end of the constants (%#x bytes)", s.size, s.base, len(constants))}
		}
	}
	for i, s := range l.lanes {
		from := values.Lanes[i].Base
		dst := constants[s.base : s.base+s.size]
		for j := range dst {
			m := mask.Data[from+j]
			dst[j] = dst[j]&^m | values.Data[from+j]&m
		}
	}
	return nil
}
