package coeff

import (
	"slices"

	"github.com/x448/float16"

	"anesim/internal/datapath/lanes"
	"anesim/loader/layer"
)

// BiasRows returns 1 if bias is true, and 0 otherwise. This is the number of rows of biases at the
// start of each plane, a block of weights for several channels.
func BiasRows(bias bool) int {
	if bias {
		return 1
	}
	return 0
}

// A Convolution packs the weights of a convolution into the form in which the engines load them.
type Convolution struct {
	Layer   *layer.Layer
	Weights *layer.Weights
	// Rows and Columns are the numbers of taps that Weights has. The window may have more taps,
	// which are zero.
	Rows, Columns int
	Table         []byte // activation table at the start of every lane; nil if there is none
}

// TaskGroups returns the number of channel groups that the layer's tasks convolve separately. It
// returns 1 for a depthwise convolution, because the engine has a separate mode for it.
func (c *Convolution) TaskGroups() int {
	if c.Layer.IsDepthwise() {
		return 1
	}
	return max(1, c.Layer.Groups)
}

// Pack returns the packed weights and biases of the output channels in s. They form planes, each
// with the weights of up to width channels. If the convolution has an activation table, it comes
// before the weights of each engine. Pack stores dense weights in the memory that reserve(n)
// returns, which must be n zero bytes. If reserve is nil, Pack allocates the memory.
func (c *Convolution) Pack(s Share, width int, reserve func(n int) []byte) *Kernel {
	if c.Weights.SizesOnly && c.form() == layer.FormFP16 && !c.usesZeroSkipping(s.Channels) {
		f := ChannelWeights{Groups: s.Groups, Channels: s.Channels, Taps: c.inputChannels() * c.Layer.Window.Kh * c.Layer.Window.Kw}
		k := f.packWithoutData(width, c.Layer.Bias).prependTable(c.Table)
		k.WindowTaps = c.countNeededTaps(s)
		return k
	}
	win := &c.Layer.Window
	phases := win.Phases()
	f := c.weightsOfShare(s, slices.Concat(phases...))
	zeroSkipping := c.usesZeroSkipping(s.Channels)
	if !zeroSkipping {
		f.reserve, f.headroom = reserve, len(c.Table)
	}
	k := f.Pack(width)
	if taps := win.Kh * win.Kw; zeroSkipping && f.canPackSparse(width, taps, phases) {
		if skipping := f.packSparseKernel(width, taps, phases); k.Coding == dense || c.Weights.Form == layer.FormSparse || skipping.Size() < k.Size() {
			k = skipping
		}
	}
	k = k.prependTable(c.Table)
	k.WindowTaps = c.countNeededTaps(s)
	return k
}

// form returns the form in which the weights are packed if they fit it.
func (c *Convolution) form() layer.Form {
	if len(c.Weights.Filter) == 0 {
		return layer.FormFP16
	}
	return c.Weights.Form
}

// countNeededTaps returns how many taps of the window the values of share s need, as
// [Kernel.WindowTaps] defines it. Weights that are not given count as nonzero.
func (c *Convolution) countNeededTaps(s Share) int {
	w := &c.Layer.Window
	rows, columns := map[int]bool{}, map[int]bool{}
	for position := range w.Kh * w.Kw {
		if y, x := position/w.Kw, position%w.Kw; !(rows[y] && columns[x]) && c.hasNonzeroWeight(s, position) {
			rows[y], columns[x] = true, true
		}
	}
	return max(1, len(rows)*len(columns))
}

// hasNonzeroWeight reports whether any channel of share s has a nonzero weight at a position of the
// window.
func (c *Convolution) hasNonzeroWeight(s Share, position int) bool {
	w, tap := c.Weights, c.tapIndex(position)
	switch {
	case tap < 0:
		return false
	case len(w.Filter) == 0:
		return tap >= len(w.Zero) || !w.Zero[tap]
	}
	stored, channels := c.Rows*c.Columns, c.inputChannels()
	perGroup := c.Layer.Cout / c.TaskGroups()
	for g := range s.Groups {
		first := ((s.Group+g)*perGroup + s.First) * channels
		for k := range s.Channels * channels {
			if w.Filter[(first+k)*stored+tap]&0x7fff != 0 {
				return true
			}
		}
	}
	return false
}

// inputChannels returns the number of input channels that each output channel reads.
func (c *Convolution) inputChannels() int {
	if c.Layer.IsDepthwise() {
		return 1
	}
	return c.Layer.In.C / max(1, c.Layer.Groups)
}

// weightsOfShare returns the weights and biases of s, the output channels that one task computes.
// positions lists the taps of the window in the order in which they are packed.
// weightsOfShare uses the list as scratch space.
func (c *Convolution) weightsOfShare(s Share, positions []int) *ChannelWeights {
	l, w := c.Layer, c.Weights
	taps, stored := l.Window.Kh*l.Window.Kw, c.Rows*c.Columns
	channels := c.inputChannels()
	perGroup := l.Cout / c.TaskGroups()
	output := func(g, n int) int { return (s.Group+g)*perGroup + s.First + n }
	order, inOrder := positions, taps == stored
	for i, position := range positions {
		order[i] = c.tapIndex(position)
		inOrder = inOrder && order[i] == i
	}
	f := &ChannelWeights{
		Groups: s.Groups, Channels: s.Channels, Taps: channels * taps, SizesOnly: w.SizesOnly, uniform: len(w.Filter) == 0,
		Weight: func(g, n, k int) float16.Float16 {
			tap := order[k%taps]
			if tap < 0 {
				return 0
			}
			if w.SizesOnly && len(w.Filter) == 0 {
				return 0x3c00 // any value but zero
			}
			return w.Weight(output(g, n)*channels*stored + k/taps*stored + tap)
		},
		strided: l.Window.Sy > 1 || l.Window.Sx > 1, aligned: l.IsDepthwise(),
	}
	var row []float16.Float16
	f.readChannel = func(buf []float16.Float16, g, n int) []float16.Float16 {
		first, n := output(g, n)*channels*stored, channels*stored
		// Most convolutions store taps in the order of the lanes, and their runs are read without a copy.
		if inOrder {
			return w.ReadRun(buf, first, n)
		}
		row = slices.Grow(row[:0], n)[:n]
		from := w.ReadRun(row, first, n)
		if from == nil {
			return nil
		}
		return reorderTaps(buf[:f.Taps], from, order, stored)
	}
	if l.Bias {
		f.Bias = func(g, n int) float16.Float16 { return layer.ValueAt(w.Bias, output(g, n)) }
	}
	f.setPreferredForm(w, output)
	return f
}

// reorderTaps fills dst with weights from from, one input channel after the other, and returns dst.
// order lists the taps of an input channel in their new order, with -1 for zero, and stored is the
// number of taps that from has of each input channel.
func reorderTaps(dst, from []float16.Float16, order []int, stored int) []float16.Float16 {
	for c := range len(dst) / len(order) {
		for i, tap := range order {
			v := float16.Float16(0)
			if tap >= 0 {
				v = from[c*stored+tap]
			}
			dst[c*len(order)+i] = v
		}
	}
	return dst
}

// usesZeroSkipping reports whether a share of the given number of output channels may leave out
// zero weights. The stride must be 2 in both directions, and the convolution must be depthwise or
// have one group and a multiple of 16 channels.
func (c *Convolution) usesZeroSkipping(channels int) bool {
	l := c.Layer
	form := l.IsDepthwise() || max(1, l.Groups) == 1 && channels%lanes.Count == 0
	return !c.Weights.Dense && form && l.Window.Sy == 2 && l.Window.Sx == 2
}

// channelBytes returns how many bytes the weights of one output channel occupy in an engine's
// memory. channels is the number of output channels in the share, which decides the encoding.
func (c *Convolution) channelBytes(channels int) int {
	l := c.Layer
	rows := c.inputChannels()*l.Window.Kh*l.Window.Kw + BiasRows(l.Bias)
	bytes := rows * layer.ElementBytes
	switch {
	case !c.usesZeroSkipping(channels):
	case l.IsDepthwise():
		bytes += 2
		for _, phase := range l.Window.Phases() {
			bytes += maskBytes(len(phase), l.Window.Kh*l.Window.Kw)
		}
		bytes = layer.RoundUp(bytes, 64)
	default:
		bytes += (rows + 7) / 8 // one bit per weight (seen in 4 of 4 tasks)
	}
	return bytes
}

// tapIndex returns the index in the weights of the tap at a position of the window, or -1 if there
// is none: between the taps of a dilated window, and in the rows and columns by which the window
// was enlarged for its padding.
func (c *Convolution) tapIndex(position int) int {
	l := c.Layer
	y, x := position/l.Window.Kw, position%l.Window.Kw
	dy, dx := l.RowDilation(), max(1, l.Dilation)
	if y%dy != 0 || x%dx != 0 || y/dy >= c.Rows || x/dx >= c.Columns {
		return -1
	}
	return y/dy*c.Columns + x/dx
}

// FitsTable reports whether an engine's memory has room for an activation table besides the
// weights. It reports false if the output channels need several tasks.
func (c *Convolution) FitsTable() bool {
	l := c.Layer
	shares, err := c.Shares()
	if err != nil || len(shares) != 1 {
		return false
	}
	if out := l.Out(); out.H*out.W <= lanes.PatchPixels {
		return true
	}
	s := shares[0]
	return TableBytes+s.Groups*layer.RoundUp((s.Channels+lanes.Count-1)/lanes.Count*c.channelBytes(s.Channels), 64) <= l.LaneBytes()
}
