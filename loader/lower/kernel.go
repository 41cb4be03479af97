package lower

import (
	"encoding/binary"
	"slices"

	"github.com/x448/float16"

	"anesim/hw/lanes"
	"anesim/loader/layer"
)

// A kernel is the coefficients of one task as its lanes hold them, from the task's start
// in the constant section; sizes are multiples of 64.
type kernel struct {
	data   []byte // nil of a program that is only timed
	lanes  []lane
	coding coding
}

// size is the bytes of all lanes, which stand one behind the other.
func (k *kernel) size() int {
	if len(k.lanes) == 0 {
		return 0
	}
	last := k.lanes[len(k.lanes)-1]
	return last.base + last.size
}

type lane struct{ base, size int }

// A filter gives the coefficients of a task's output channels: tap k of channel n of
// group g, and its bias.
type filter struct {
	groups, channels, taps int
	weight                 func(g, n, k int) float16.Float16
	bias                   func(g, n int) float16.Float16 // nil without
	sizes                  bool                           // lanes without their bytes
	uniform                bool                           // the same taps are zero in every channel
	apart                  bool                           // zero-skipping planes begin at multiples of 64 bytes
	room                   func(n int) []byte             // where coefficients go, if they are kept as they are; nil for anywhere

	// channel is all taps of a channel, and tap those of one tap in all channels of the one
	// group: runs of what weight gives one by one, in the order that is quick where they are
	// from. They may stand in buf, which has room. One of both may be nil, what they give
	// where all is zero.
	channel func(buf []float16.Float16, g, n int) []float16.Float16
	tap     func(buf []float16.Float16, k int) []float16.Float16

	// form is what the coefficients take where it holds them, with the channels' scales for
	// int8; of a strided task the engine reads a mask in another way.
	form    layer.Form
	scale   func(g, n int) (float16.Float16, bool) // nil without
	strided bool
}

// takes gives the filter the form of a layer's weights; channel is the layer's output channel
// that a channel of the filter makes. Weights that are not there have none.
func (f *filter) takes(w *layer.Weights, channel func(g, n int) int) {
	if len(w.Filter) == 0 {
		return
	}
	f.form = w.Form
	if len(w.Scale) > 0 {
		f.scale = func(g, n int) (float16.Float16, bool) { return w.ChannelScale(channel(g, n)) }
	}
}

// pack lays the filter out in planes of up to width channels, dealt to the lanes in turn (see
// package lanes):
//
//	lane 0: [bias row][tap 0: w fp16 values][tap 1] ...   plane 0, plane 16, ...
//	lane 1: [bias row][tap 0: w fp16 values][tap 1] ...   plane 1, plane 17, ...
//
// Groups follow each other, each padded to 64 bytes.
func (f *filter) pack(width int) *kernel {
	if f.sizes && f.form == layer.FormFP16 {
		return f.size(width)
	}
	var planes []plane
	for g := range f.groups {
		for first := 0; first < f.channels; {
			w, n := lanes.Planes(f.channels-first, width)
			for i := range n {
				planes = append(planes, plane{i % engines, g, first, w})
				first += w
			}
		}
	}
	return f.fill(planes)
}

// size is the lanes of pack without their bytes.
func (f *filter) size(width int) *kernel {
	rows := f.taps + biasRows(f.bias != nil)
	var group [engines]int // bytes of a group in each lane
	for first := 0; first < f.channels; {
		w, n := lanes.Planes(f.channels-first, width)
		for i := range min(n, engines) {
			group[i] += (n + engines - 1 - i) / engines * rows * w * layer.ElementBytes
		}
		first += n * w
	}
	k := &kernel{lanes: make([]lane, 0, engines)}
	total := 0
	for _, n := range group {
		if n = f.groups * roundUp(n, 64); n > 0 {
			k.lanes = append(k.lanes, lane{total, n})
			total += n
		}
	}
	return k
}

// packEach is pack in planes of w each, however many channels there are.
func (f *filter) packEach(w int) *kernel {
	var planes []plane
	for i := 0; i*w < f.channels; i++ {
		planes = append(planes, plane{i % engines, 0, i * w, w})
	}
	return f.fill(planes)
}

// A plane is width channels of a group side by side in a lane.
type plane struct{ lane, group, first, width int }

// fill writes planes into their lanes; groups start at multiples of 64 bytes.
func (f *filter) fill(planes []plane) *kernel {
	rows := f.taps + biasRows(f.bias != nil)
	var size [engines]int
	group := 0
	offsets := make([]int, len(planes))
	for i, p := range planes {
		if p.group != group {
			group = p.group
			for l := range size {
				size[l] = roundUp(size[l], 64)
			}
		}
		offsets[i] = size[p.lane]
		size[p.lane] += rows * p.width * layer.ElementBytes
	}
	k := new(kernel)
	total := 0
	for _, n := range size {
		if n = roundUp(n, 64); n > 0 {
			k.lanes = append(k.lanes, lane{total, n})
			total += n
		}
	}
	if f.form != layer.FormFP16 {
		if c := f.coded(planes, k); c != nil {
			return c
		}
	}
	if f.sizes {
		return k
	}
	if f.room == nil {
		f.room = func(n int) []byte { return make([]byte, n) }
	}
	k.data = f.room(total)
	at := func(i int) []byte { return k.data[k.lanes[planes[i].lane].base+offsets[i]:] }
	if f.tap != nil {
		f.byTaps(planes, at)
		return k
	}
	var buf []float16.Float16
	for i, p := range planes {
		buf = f.plane(at(i), p, buf)
	}
	return k
}

// biases writes the biases of a plane and returns what is behind them.
func (f *filter) biases(dst []byte, p plane) []byte {
	if f.bias == nil {
		return dst
	}
	for n := range p.width {
		putHalf(dst[layer.ElementBytes*n:], uint16(f.bias(p.group, p.first+n)))
	}
	return dst[layer.ElementBytes*p.width:]
}

// byTaps writes the planes of a filter that has its taps one after the other.
func (f *filter) byTaps(planes []plane, at func(plane int) []byte) {
	rows := make([][]byte, len(planes))
	for i, p := range planes {
		rows[i] = f.biases(at(i), p)
	}
	buf := make([]float16.Float16, f.channels)
	for k := range f.taps {
		values := f.tap(buf, k)
		if values == nil {
			return
		}
		for i, p := range planes {
			dst := rows[i][layer.ElementBytes*p.width*k:]
			for n, v := range values[p.first : p.first+p.width] {
				putHalf(dst[layer.ElementBytes*n:], uint16(v))
			}
		}
	}
}

// plane writes the channels of a plane side by side, the bias ahead. It returns buf, which
// it makes room in.
func (f *filter) plane(dst []byte, p plane, buf []float16.Float16) []float16.Float16 {
	dst = f.biases(dst, p)
	if f.channel == nil {
		for n := range p.width {
			for k := range f.taps {
				putHalf(dst[layer.ElementBytes*(k*p.width+n):], uint16(f.weight(p.group, p.first+n, k)))
			}
		}
		return buf
	}
	buf = slices.Grow(buf[:0], p.width*f.taps)[:p.width*f.taps]
	rows := make([][]float16.Float16, p.width)
	for n := range rows {
		if rows[n] = f.channel(buf[n*f.taps:][:f.taps], p.group, p.first+n); rows[n] == nil {
			return buf
		}
	}
	// A few dozen taps at a time: what a line of the caches has of each channel is all used
	// while it is there.
	const block = 32
	for from := 0; from < f.taps; from += block {
		to := min(from+block, f.taps)
		for n, row := range rows {
			at := layer.ElementBytes * (from*p.width + n)
			for _, v := range row[from:to] {
				putHalf(dst[at:], uint16(v))
				at += layer.ElementBytes * p.width
			}
		}
	}
	return buf
}

func appendHalf(dst []byte, h float16.Float16) []byte {
	return binary.LittleEndian.AppendUint16(dst, uint16(h))
}

// pad64 pads to a multiple of 64 bytes.
func pad64(b []byte) []byte {
	return append(b, make([]byte, -len(b)&63)...)
}

// lane appends a lane.
func (k *kernel) lane(b []byte) {
	k.lanes = append(k.lanes, lane{len(k.data), roundUp(len(b), 64)})
	k.data = append(k.data, pad64(b)...)
}
