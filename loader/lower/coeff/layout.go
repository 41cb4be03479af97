package coeff

import (
	"fmt"

	"github.com/x448/float16"

	"anesim/hw/lanes"
	"anesim/hw/regs"
	"anesim/loader/layer"
)

// A Layout is how the coefficients of a descriptor stand in the constants: whose weight
// stands where. It is that of the dense forms and of the zero-skipping one of a 1x1 window,
// which the compiler's section hashes prove; the weights can be replaced in place.
type Layout struct {
	Groups, Channels int // of a group
	Taps             int // of a channel: input channels times window
	Bias             bool

	weights ChannelWeights
	width   int
	lanes   []laneSpan // in the constants
	sparse  bool       // zero-skipping, of a 1x1 window
}

// A laneSpan is a lane's bytes in the constants.
type laneSpan struct{ base, size uint64 }

// A LayoutError is a descriptor whose coefficients cannot be replaced.
type LayoutError struct {
	What string
}

func (e *LayoutError) Error() string { return "coefficients: " + e.What }

func layoutErrorf(format string, args ...any) error {
	return &LayoutError{fmt.Sprintf(format, args...)}
}

// LayoutOf reads a descriptor's layout from its registers. The error is a *LayoutError.
func ReadLayout(h *regs.Header, g *regs.Groups) (*Layout, error) {
	refuse := func(format string, args ...any) (*Layout, error) { return nil, layoutErrorf(format, args...) }
	c, n := &g.Common, &g.NE
	v := c.ConvCfg
	taps := int(v.Kh()) * int(v.Kw())
	switch {
	case g.Planar() || n.MACCfg.OpMode() != regs.MultiplyAccumulate:
		return refuse("descriptor does not multiply by weights")
	case !h.KernelBases.KBE0() || h.KernelBases.KBase0() != regs.BARWeights:
		return refuse("the weights are a tensor of the program, not constants")
	case n.KernelCfg.KernelFmt() != regs.FormatFP16:
		return refuse("weights of format %v; only the layout of fp16 is known", n.KernelCfg.KernelFmt())
	case n.KernelCfg.PalEn():
		return refuse("weights are indices of a palette, whose layout is not known")
	case n.KernelCfg.Sparse() && !isSparsePointwise(g):
		return refuse("weights are zero-skipping in a window or of a stride whose order of taps is not known")
	case taps > 1 && (v.Sx() > 1 || v.Sy() > 1):
		return refuse("the order of the taps of a %dx%d window with a stride is not known", v.Kh(), v.Kw())
	case v.Ox() > 1 || v.Oy() > 1:
		return refuse("the order of the taps of several outputs a step is not known")
	}
	l := &Layout{Groups: g.GroupCount(), Channels: int(c.Cout.Cout()), Bias: n.MACCfg.BiasMode()}
	if c.GroupConvCfg.UnicastEn() {
		if c.GroupConvCfg.UnicastCin() != 1 {
			return refuse("channels by themselves of %d inputs each", c.GroupConvCfg.UnicastCin())
		}
		l.Taps = taps
	} else {
		l.Taps = taps * int(c.Cin.Cin())
	}
	l.width = lanes.Most(g, l.Taps)
	if l.Channels < 1 || l.Taps < 1 || uint64(l.Groups)*uint64(l.Channels)*uint64(l.Taps) > maxCoefficients {
		return refuse("%d groups of %d channels of %d taps", l.Groups, l.Channels, l.Taps)
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
		return l, nil // how long a lane is depends on its values
	}
	k := l.weights.Pack(l.width)
	if len(k.Lanes) != len(l.lanes) {
		return refuse("%d lanes are on, %d channels of %d taps take %d", len(l.lanes), l.Channels, l.Taps, len(k.Lanes))
	}
	for i := range k.Lanes {
		if uint64(k.Lanes[i].Size) != l.lanes[i].size {
			return refuse("lane %d has %d bytes, its channels take %d", i, l.lanes[i].size, k.Lanes[i].Size)
		}
	}
	return l, nil
}

// maxCoefficients bounds what a descriptor may claim: the compiler's kernel section.
const maxCoefficients = 128 << 20 / layer.ElementBytes

// Weights is the number of weights, [group][channel][input][tap] in that order.
func (l *Layout) Weights() int { return l.Groups * l.Channels * l.Taps }

// Biases is the number of biases, one a channel, 0 without.
func (l *Layout) Biases() int {
	if !l.Bias {
		return 0
	}
	return l.Groups * l.Channels
}

// Shape spells what Weights counts.
func (l *Layout) Shape() string {
	return fmt.Sprintf("%d channels of %d weights", l.Groups*l.Channels, l.Taps)
}

// SetWeights writes weights to their places in the constants. Nothing else changes.
func (l *Layout) SetWeights(constants []byte, values []float16.Float16) error {
	if len(values) != l.Weights() {
		return &LayoutError{fmt.Sprintf("%d weights, want %d: %s", len(values), l.Weights(), l.Shape())}
	}
	if l.sparse {
		return l.setSparse(constants, values, nil)
	}
	at := func(g, n, k int) float16.Float16 { return values[(g*l.Channels+n)*l.Taps+k] }
	ones := func(_, _, _ int) float16.Float16 { return 0xffff }
	return l.merge(constants, l.packWith(at, nil), l.packWith(ones, nil))
}

// SetBiases writes biases to their places in the constants.
func (l *Layout) SetBiases(constants []byte, values []float16.Float16) error {
	if len(values) != l.Biases() || !l.Bias {
		return &LayoutError{fmt.Sprintf("%d biases, want %d", len(values), l.Biases())}
	}
	if l.sparse {
		return l.setSparse(constants, nil, values)
	}
	at := func(g, n int) float16.Float16 { return values[g*l.Channels+n] }
	ones := func(_, _ int) float16.Float16 { return 0xffff }
	return l.merge(constants, l.packWith(nil, at), l.packWith(nil, ones))
}

// with packs a filter of the layout; nil is zeros.
func (l *Layout) packWith(weight func(g, n, k int) float16.Float16, bias func(g, n int) float16.Float16) *Kernel {
	f := l.weights
	if weight != nil {
		f.Weight = weight
	}
	if bias != nil {
		f.Bias = bias
	}
	return f.Pack(l.width)
}

// merge writes the bytes that mask has set.
func (l *Layout) merge(constants []byte, values, mask *Kernel) error {
	for _, s := range l.lanes {
		if s.base > uint64(len(constants)) || s.size > uint64(len(constants))-s.base {
			return &LayoutError{fmt.Sprintf("lane of %#x bytes at %#x leaves the %#x bytes of constants", s.size, s.base, len(constants))}
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
