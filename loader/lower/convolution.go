package lower

import (
	"slices"

	"github.com/x448/float16"

	"anesim/loader/layer"
)

// A share is what one task computes: a run of output channels of each of a run of groups.
// The channels of a depthwise convolution are one group.
type share struct{ group, groups, first, channels int }

// shares splits a convolution so that a lane's coefficients fit an engine. Above one
// patch an engine holds 64 KiB, and takes whole passes of channels; the remainder goes
// first, then the last channels down (5/5). Under one patch there is no limit. Groups are
// split before their channels (assumed).
func (c *convolution) shares() ([]share, error) {
	l := c.layer
	out := l.Out()
	groups := c.groups()
	channels := l.Cout / groups
	all := []share{{0, groups, 0, channels}}
	if out.H*out.W <= patchPixels {
		return all, nil
	}
	bytes := c.channelBytes(channels)
	group := roundUp((channels+engines-1)/engines*bytes, 64)
	if each := l.LaneBytes() / group; groups > 1 && each > 0 {
		var s []share
		for first := 0; first < groups; first += each {
			s = append(s, share{first, min(each, groups-first), 0, channels})
		}
		return s, nil
	}
	parts, err := splitChannels(channels, bytes, l.LaneBytes())
	if err != nil {
		return nil, err
	}
	var s []share
	for g := range groups {
		for _, part := range parts {
			s = append(s, share{g, 1, part.first, part.channels})
		}
	}
	return s, nil
}

// wholePasses is how many channels an engine takes of those that it has room for: passes of
// sixteen, or fewer than that in twos (11/11 tasks of convolutions: 14, 12 and 6 where there
// is room for 14, 13 and 7; 2/2 of a product with a table: 48 where there is room for 63). That
// the sixteens hold of convolutions too is inferred.
func wholePasses(room int) int {
	switch {
	case room > engineChannels:
		return room / engineChannels * engineChannels
	case room > 1:
		return room &^ 1
	}
	return room
}

// engineChannels is the most channels that an engine makes in a pass over its source.
const engineChannels = 16

// splitChannels shares the channels of one group, each of so many bytes of a lane.
func splitChannels(channels, bytes, lane int) ([]share, error) {
	each := wholePasses(lane / bytes)
	if each == 0 {
		return nil, layer.Within("bytes of one channel's coefficients", bytes, lane,
			"split the input channels until those of one output channel are at most %d, and add the parts")
	}
	var s []share
	for end := channels; end > 0; {
		n := min(end, each*engines)
		if r := end % (each * engines); len(s) == 0 && r > 0 {
			n = r
		}
		end -= n
		s = append(s, share{0, 1, end, n})
	}
	return s, nil
}

func biasRows(bias bool) int {
	if bias {
		return 1
	}
	return 0
}

// A convolution is a layer's convolution as its coefficients are packed.
type convolution struct {
	layer   *layer.Layer
	weights *layer.Weights
	// rows and columns are the taps of the weights. The window may be larger by taps of zero
	// weight.
	rows, columns int
	table         []byte // stands ahead of the weights of every lane; nil for none
}

// groups is how many groups tasks see: channels by themselves are one.
func (c *convolution) groups() int {
	if c.layer.Depthwise() {
		return 1
	}
	return max(1, c.layer.Groups)
}

// kernel packs the coefficients of a share, in room for them if they are kept as they are. The taps of an input
// channel stand in the order of their stride phase.
func (c *convolution) kernel(s share, width int, room func(n int) []byte) *kernel {
	l, w := c.layer, c.weights
	win := &l.Window
	taps, real := win.Kh*win.Kw, c.rows*c.columns
	channels := 1
	if !l.Depthwise() {
		channels = l.In.C / max(1, l.Groups)
	}
	perGroup, each := l.Cout/c.groups(), taps
	if !l.Depthwise() {
		each *= l.In.C / max(1, l.Groups)
	}
	phases := win.Phases()
	order := slices.Concat(phases...)
	direct := taps == real
	for i, place := range order {
		order[i] = c.tap(place)
		direct = direct && order[i] == i
	}
	f := filter{
		groups: s.groups, channels: s.channels, taps: each, sizes: w.SizesOnly, uniform: len(w.Filter) == 0,
		weight: func(g, n, k int) float16.Float16 {
			tap := order[k%taps]
			if tap < 0 {
				return 0
			}
			if w.SizesOnly && len(w.Filter) == 0 {
				return halfOne // any value but zero
			}
			return w.Weight(((s.group+g)*perGroup+s.first+n)*channels*real + k/taps*real + tap)
		},
	}
	var row []float16.Float16
	f.channel = func(buf []float16.Float16, g, n int) []float16.Float16 {
		first, n := ((s.group+g)*perGroup+s.first+n)*channels*real, channels*real
		if direct {
			return w.Run(buf, first, n)
		}
		row = slices.Grow(row[:0], n)[:n]
		from := w.Run(row, first, n)
		if from == nil {
			return nil
		}
		buf = buf[:each]
		for c := range channels {
			for i, tap := range order {
				v := float16.Float16(0)
				if tap >= 0 {
					v = from[c*real+tap]
				}
				buf[c*taps+i] = v
			}
		}
		return buf
	}
	if l.Bias {
		f.bias = func(g, n int) float16.Float16 { return layer.ValueAt(w.Bias, (s.group+g)*perGroup+s.first+n) }
	}
	f.strided, f.apart = win.Sy > 1 || win.Sx > 1, l.Depthwise()
	f.takes(w, func(g, n int) int { return (s.group+g)*perGroup + s.first + n })
	if !c.skipsZeros(s.channels) && c.table == nil {
		f.room = room
	}
	k := f.pack(width)
	if c.skipsZeros(s.channels) && f.sparseFits(width, taps, phases) {
		if skipping := f.packSparse(width, taps, phases); k.coding == dense || w.Form == layer.FormSparse || skipping.size() < k.size() {
			k = skipping
		}
	}
	return c.withTable(k)
}

// skipsZeros reports whether a share's coefficients have the zero-skipping form: those of
// one group, and of channels by themselves.
func (c *convolution) skipsZeros(channels int) bool {
	l := c.layer
	form := l.Depthwise() || max(1, l.Groups) == 1 && channels%engines == 0
	return !c.weights.Dense && form && l.Window.Sy == 2 && l.Window.Sx == 2
}

// channelBytes is what an output channel of a share takes of a lane.
func (c *convolution) channelBytes(channels int) int {
	l := c.layer
	rows := l.Window.Kh*l.Window.Kw + biasRows(l.Bias)
	if !l.Depthwise() {
		rows = l.In.C/max(1, l.Groups)*l.Window.Kh*l.Window.Kw + biasRows(l.Bias)
	}
	bytes := rows * layer.ElementBytes
	switch {
	case !c.skipsZeros(channels):
	case l.Depthwise():
		bytes += 2
		for _, phase := range l.Window.Phases() {
			bytes += maskBytes(len(phase), l.Window.Kh*l.Window.Kw)
		}
		bytes = roundUp(bytes, 64)
	default:
		bytes += (rows + 7) / 8 // a bit a weight (4/4)
	}
	return bytes
}

// withTable puts the table that rides on a convolution ahead of the weights of every lane.
// Programs show its 128 bytes in every lane of such a task (5/5); that it stands ahead is
// assumed, as in the device.
func (c *convolution) withTable(k *kernel) *kernel {
	if c.table == nil {
		return k
	}
	whole := &kernel{coding: k.coding}
	if k.data == nil { // sizes alone
		at := 0
		for _, l := range k.lanes {
			n := roundUp(tableBytes+l.size, 64)
			whole.lanes = append(whole.lanes, lane{at, n})
			at += n
		}
		return whole
	}
	for _, l := range k.lanes {
		whole.lane(append(slices.Clone(c.table), k.data[l.base:l.base+l.size]...))
	}
	return whole
}

// tap is the weight at a place of the window, -1 between the taps of a dilated one and
// beyond those of one widened by its padding.
func (c *convolution) tap(place int) int {
	l := c.layer
	y, x := place/l.Window.Kw, place%l.Window.Kw
	d := max(1, l.Dilation)
	if y%d != 0 || x%d != 0 || y/d >= c.rows || x/d >= c.columns {
		return -1
	}
	return y/d*c.columns + x/d
}

// pairKernel packs the coefficients of a depthwise convolution that makes several pixels a step, side by side over the columns either needs; the
// columns stand by their place modulo the step's stride.
func pairKernel(l *layer.Layer, w *layer.Weights, pixels int) *kernel {
	columns := layer.Window{Kh: 1, Kw: l.Window.Kw + pixels - 1, Sy: 1, Sx: pixels}
	var order []int
	for _, phase := range columns.Phases() {
		order = append(order, phase...)
	}
	f := filter{
		groups: 1, channels: l.Cout * pixels, taps: columns.Kw, sizes: w.SizesOnly,
		weight: func(_, n, k int) float16.Float16 {
			x := order[k] - n%pixels
			if x < 0 || x >= l.Window.Kw {
				return 0
			}
			return w.Weight(n/pixels*l.Window.Kw + x)
		},
	}
	if l.Bias {
		f.bias = func(_, n int) float16.Float16 { return layer.ValueAt(w.Bias, n/pixels) }
	}
	f.strided = true // by the pixels of a step
	f.takes(w, func(_, n int) int { return n / pixels })
	return f.packEach(pixels)
}

// productKernel packs the columns of a share of a product with constants, in room for them.
func productKernel(l *layer.Layer, w *layer.Weights, s share, width int, room func(n int) []byte) *kernel {
	k, n := l.In.W, l.Columns
	f := filter{
		groups: 1, channels: s.channels, taps: k, sizes: w.SizesOnly,
		weight: func(_, c, i int) float16.Float16 {
			if l.Op == layer.Linear {
				return w.Weight((s.first+c)*k + i)
			}
			return w.Weight(i*n + s.first + c)
		},
	}
	if l.Op == layer.Linear {
		f.channel = func(buf []float16.Float16, _, c int) []float16.Float16 { return w.Run(buf, (s.first+c)*k, k) }
	} else {
		f.tap = func(buf []float16.Float16, i int) []float16.Float16 { return w.Run(buf, i*n+s.first, s.channels) }
	}
	if l.Bias {
		f.bias = func(_, c int) float16.Float16 { return layer.ValueAt(w.Bias, s.first+c) }
	}
	f.takes(w, func(_, c int) int { return s.first + c })
	f.room = room
	return f.pack(width)
}

// holdsTable reports whether a lane has room for a table ahead of the weights of all
// channels.
func (c *convolution) holdsTable() bool {
	l := c.layer
	shares, err := c.shares()
	if err != nil || len(shares) != 1 {
		return false
	}
	if out := l.Out(); out.H*out.W <= patchPixels {
		return true
	}
	s := shares[0]
	return tableBytes+s.groups*roundUp((s.channels+engines-1)/engines*c.channelBytes(s.channels), 64) <= l.LaneBytes()
}
