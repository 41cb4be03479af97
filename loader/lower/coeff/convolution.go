package coeff

import (
	"slices"

	"github.com/x448/float16"

	"anesim/hw/lanes"
	"anesim/loader/layer"
)

// A Share is the part of a layer that one task computes: Channels output channels, from First on,
// of each of Groups groups, from Group on. A depthwise convolution counts as one group.
type Share struct{ Group, Groups, First, Channels int }

// RoundToPasses returns how many channels an engine uses out of the room it has. It is a multiple
// of 16, the channels of a pass, or, below that, an even number.
//
// This was seen in 11 of 11 convolution tasks, which use 14, 12 and 6 channels where there is
// room for 14, 13 and 7, and in 2 of 2 tasks of a matmul with a table, which use 48 where there
// is room for 63. That convolutions too use multiples of 16 is inferred.
func RoundToPasses(room int) int {
	switch {
	case room > engineChannels:
		return room / engineChannels * engineChannels
	case room > 1:
		return room &^ 1
	}
	return room
}

// engineChannels is the largest number of channels that an engine computes in one pass over its
// source.
const engineChannels = 16

// SplitChannels splits the output channels of one group so that the weights of each share fit in
// a lane. bytes is the size of one channel's weights, lane that of a lane. The remainder comes
// first, then the last channels down to the first. It returns a *layer.LimitError if a single
// channel does not fit.
func SplitChannels(channels, bytes, lane int) ([]Share, error) {
	each := RoundToPasses(lane / bytes)
	if each == 0 {
		return nil, layer.CheckLimit("bytes of one output channel's weights", bytes, lane,
			"split the input channels until the weights of one output channel take at most %d bytes, and add the parts")
	}
	var s []Share
	for end := channels; end > 0; {
		n := min(end, each*lanes.Count)
		if r := end % (each * lanes.Count); len(s) == 0 && r > 0 {
			n = r
		}
		end -= n
		s = append(s, Share{0, 1, end, n})
	}
	return s, nil
}

// BiasRows returns the number of rows of biases before the weights of a plane, 0 or 1.
func BiasRows(bias bool) int {
	if bias {
		return 1
	}
	return 0
}

// A Convolution describes the weights of a convolution for packing.
type Convolution struct {
	Layer   *layer.Layer
	Weights *layer.Weights
	// Rows and Columns are the numbers of taps that Weights has. The window may have more taps,
	// which are zero.
	Rows, Columns int
	Table         []byte // activation table at the start of every lane; nil if there is none
}

// TaskGroups returns the number of groups in the layer's tasks. A depthwise convolution has one.
func (c *Convolution) TaskGroups() int {
	if c.Layer.IsDepthwise() {
		return 1
	}
	return max(1, c.Layer.Groups)
}

// Pack packs the weights and biases of one share into planes of up to width channels, and puts
// the convolution's table, if it has one, at the start of every lane. The taps of an input
// channel are ordered by stride phase. reserve returns room for a number of bytes; it is used
// for dense weights without a table.
func (c *Convolution) Pack(s Share, width int, reserve func(n int) []byte) *Kernel {
	win := &c.Layer.Window
	phases := win.Phases()
	f := c.shareWeights(s, slices.Concat(phases...))
	zeroSkipping := c.usesZeroSkipping(s.Channels)
	if !zeroSkipping && c.Table == nil {
		f.reserve = reserve
	}
	k := f.Pack(width)
	if taps := win.Kh * win.Kw; zeroSkipping && f.fitsSparse(width, taps, phases) {
		if skipping := f.packSparse(width, taps, phases); k.Coding == dense || c.Weights.Form == layer.FormSparse || skipping.Size() < k.Size() {
			k = skipping
		}
	}
	return k.PrependTable(c.Table)
}

// shareWeights returns the weights and biases of a share. positions lists the positions of the
// window in the order in which their taps are packed; shareWeights overwrites it.
func (c *Convolution) shareWeights(s Share, positions []int) *ChannelWeights {
	l, w := c.Layer, c.Weights
	taps, stored := l.Window.Kh*l.Window.Kw, c.Rows*c.Columns
	channels := 1 // input channels of an output channel
	if !l.IsDepthwise() {
		channels = l.In.C / max(1, l.Groups)
	}
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
	f.setForm(w, output)
	return f
}

// reorderTaps fills dst with the taps of from in the given order, one input channel of stored taps
// after the other, and returns dst. A tap with order -1 is zero.
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

// usesZeroSkipping reports whether a share with the given number of channels may use the
// zero-skipping form. Its stride must be 2, and it must be depthwise or have one group and a
// multiple of 16 channels.
func (c *Convolution) usesZeroSkipping(channels int) bool {
	l := c.Layer
	form := l.IsDepthwise() || max(1, l.Groups) == 1 && channels%lanes.Count == 0
	return !c.Weights.Dense && form && l.Window.Sy == 2 && l.Window.Sx == 2
}

// channelBytes returns how many bytes of a lane one output channel takes in a share with the
// given number of channels.
func (c *Convolution) channelBytes(channels int) int {
	l := c.Layer
	rows := l.Window.Kh*l.Window.Kw + BiasRows(l.Bias)
	if !l.IsDepthwise() {
		rows = l.In.C/max(1, l.Groups)*l.Window.Kh*l.Window.Kw + BiasRows(l.Bias)
	}
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

// tapIndex returns the number of the tap at a position of the window. It returns -1 between the
// taps of a dilated window, and beyond the taps of a window that padding has enlarged.
func (c *Convolution) tapIndex(position int) int {
	l := c.Layer
	y, x := position/l.Window.Kw, position%l.Window.Kw
	d := max(1, l.Dilation)
	if y%d != 0 || x%d != 0 || y/d >= c.Rows || x/d >= c.Columns {
		return -1
	}
	return y/d*c.Columns + x/d
}

// FitsTable reports whether a lane has room for a table and the weights of all channels. It
// reports false if the convolution takes several shares.
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

// Shares splits a convolution so that the weights of each share fit in a lane. If the result has
// at most one patch, there is no limit. Otherwise an engine holds 64 KiB and computes whole
// passes of channels; the remainder comes first, then the last channels down to the first (seen
// in 5 of 5 programs). Groups are split before their channels, which is assumed.
func (c *Convolution) Shares() ([]Share, error) {
	l := c.Layer
	out := l.Out()
	groups := c.TaskGroups()
	channels := l.Cout / groups
	all := []Share{{0, groups, 0, channels}}
	if out.H*out.W <= lanes.PatchPixels {
		return all, nil
	}
	bytes := c.channelBytes(channels)
	group := layer.RoundUp((channels+lanes.Count-1)/lanes.Count*bytes, 64)
	if each := l.LaneBytes() / group; groups > 1 && each > 0 {
		var s []Share
		for first := 0; first < groups; first += each {
			s = append(s, Share{first, min(each, groups-first), 0, channels})
		}
		return s, nil
	}
	parts, err := SplitChannels(channels, bytes, l.LaneBytes())
	if err != nil {
		return nil, err
	}
	var s []Share
	for g := range groups {
		for _, part := range parts {
			s = append(s, Share{g, 1, part.First, part.Channels})
		}
	}
	return s, nil
}
