package coeff

import (
	"encoding/binary"
	"slices"

	"github.com/x448/float16"

	"anesim/internal/datapath/lanes"
	"anesim/loader/layer"
)

// PutHalf stores the fp16 value with bits h in dst[0] and dst[1], in little-endian order.
func PutHalf(dst []byte, h uint16) { dst[0], dst[1] = byte(h), byte(h>>8) }

// A Kernel holds the packed weights of one task. Each engine loads one lane, a part of Data whose
// size is a multiple of 64 bytes.
type Kernel struct {
	Data   []byte // nil for a program that is only timed
	Lanes  []Lane
	Coding Coding
	// WindowTaps is the number of taps of a convolution's window that its values need: the rows
	// with a nonzero weight in any channel times the columns with one, and at least 1. It is 0 for
	// the weights of other layers.
	WindowTaps int
}

// Size returns the total number of bytes of all lanes, even if Data is nil.
func (k *Kernel) Size() int {
	if len(k.Lanes) == 0 {
		return 0
	}
	last := k.Lanes[len(k.Lanes)-1]
	return last.Base + last.Size
}

// A Lane is the part of a task's weights that one engine loads. Base is its offset in bytes from
// the start of the task's weights, and Size its length in bytes.
type Lane struct{ Base, Size int }

// A ChannelWeights gives a packer access to the weights and biases of a task's output channels.
// Weight(g, n, k) returns tap k of output channel n in group g, and Bias(g, n) returns the bias of
// that channel.
type ChannelWeights struct {
	Groups, Channels, Taps int
	Weight                 func(g, n, k int) float16.Float16
	Bias                   func(g, n int) float16.Float16 // nil if there are no biases
	SizesOnly              bool                           // compute sizes without bytes
	uniform                bool                           // every channel has zeros at the same taps
	aligned                bool                           // zero-skipping planes start at multiples of 64 bytes
	reserve                func(n int) []byte             // returns room for dense weights; nil to allocate it
	headroom               int                            // bytes to reserve beyond the weights of each lane, for its table

	// readChannel returns all taps of a channel, and readTap returns one tap of every channel of
	// the only group. They are faster than Weight, and may use buf for the result. A result of
	// nil means that all values are zero. Either function may be nil.
	readChannel func(buf []float16.Float16, g, n int) []float16.Float16
	readTap     func(buf []float16.Float16, k int) []float16.Float16

	// form is the form of the weights to try, and scale returns the scales of channels for int8.
	// In a strided task the engine reads a mask in another way.
	form    layer.Form
	scale   func(g, n int) (float16.Float16, bool) // nil if there are no scales
	strided bool
}

// setPreferredForm makes f prefer to pack its weights in the form, and with the scales, in which a
// file stores w. channel(g, n) must return the layer's output channel for channel n of group g. If
// w has no values, setPreferredForm does nothing.
func (f *ChannelWeights) setPreferredForm(w *layer.Weights, channel func(g, n int) int) {
	if len(w.Filter) == 0 {
		return
	}
	f.form = w.Form
	if len(w.Scale) > 0 {
		f.scale = func(g, n int) (float16.Float16, bool) { return w.ChannelScale(channel(g, n)) }
	}
}

// Pack returns the packed weights. A plane interleaves the weights of w output channels, where w is
// at most width. The planes go to the lanes of the 16 engines in turn:
//
//	lane 0: [bias row][tap 0: w fp16 values][tap 1] ...   plane 0, plane 16, ...
//	lane 1: [bias row][tap 0: w fp16 values][tap 1] ...   plane 1, plane 17, ...
//
// In each lane, the groups follow each other, each padded to a multiple of 64 bytes.
func (f *ChannelWeights) Pack(width int) *Kernel {
	if f.SizesOnly && f.form == layer.FormFP16 {
		return f.packWithoutData(width, f.Bias != nil)
	}
	var planes []plane
	for g := range f.Groups {
		for first := 0; first < f.Channels; {
			w, n := lanes.Planes(f.Channels-first, width)
			for i := range n {
				planes = append(planes, plane{i % lanes.Count, g, first, w})
				first += w
			}
		}
	}
	return f.packIntoLanes(planes)
}

// packWithoutData returns a kernel with the lanes that [ChannelWeights.Pack] returns for dense
// weights, but without data. Of f it needs only the numbers of groups, channels and taps.
func (f *ChannelWeights) packWithoutData(width int, bias bool) *Kernel {
	rows := f.Taps + BiasRows(bias)
	var group [lanes.Count]int // bytes of a group in each lane
	for first := 0; first < f.Channels; {
		w, n := lanes.Planes(f.Channels-first, width)
		for i := range min(n, lanes.Count) {
			group[i] += (n + lanes.Count - 1 - i) / lanes.Count * rows * w * layer.ElementBytes
		}
		first += n * w
	}
	sized := &struct { // in one allocation: sweeps lower many tasks
		Kernel
		lanes [lanes.Count]Lane
	}{}
	k := &sized.Kernel
	k.Lanes = sized.lanes[:0]
	total := 0
	for _, n := range group {
		if n = f.Groups * layer.RoundUp(n, 64); n > 0 {
			k.Lanes = append(k.Lanes, Lane{total, n})
			total += n
		}
	}
	return k
}

// packUniformPlanes is like [ChannelWeights.Pack], but makes every plane w channels wide, even if
// fewer channels are left for the last one.
func (f *ChannelWeights) packUniformPlanes(w int) *Kernel {
	var planes []plane
	for i := 0; i*w < f.Channels; i++ {
		planes = append(planes, plane{i % lanes.Count, 0, i * w, w})
	}
	return f.packIntoLanes(planes)
}

// A plane holds width channels of a group, starting with channel first, in a lane.
type plane struct{ lane, group, first, width int }

// packIntoLanes returns a kernel with the given planes in their lanes. It uses the compressed
// encoding of the weights if that is smaller. In each lane, every group starts at a multiple of 64
// bytes.
func (f *ChannelWeights) packIntoLanes(planes []plane) *Kernel {
	rows := f.Taps + BiasRows(f.Bias != nil)
	var size [lanes.Count]int
	group := 0
	// Sizes come first, so that all lanes are parts of one allocation, or are known without any bytes if
	// only sizes are wanted.
	offsets := make([]int, len(planes))
	for i, p := range planes {
		if p.group != group {
			group = p.group
			for l := range size {
				size[l] = layer.RoundUp(size[l], 64)
			}
		}
		offsets[i] = size[p.lane]
		size[p.lane] += rows * p.width * layer.ElementBytes
	}
	k := new(Kernel)
	total := 0
	for _, n := range size {
		if n = layer.RoundUp(n, 64); n > 0 {
			k.Lanes = append(k.Lanes, Lane{total, n})
			total += n
		}
	}
	// Weights that are fp16 in the file stay fp16: the compiler is assumed to compress only weights that
	// the file has compressed.
	if f.form != layer.FormFP16 {
		if c := f.packSmallestEncoding(planes, k); c != nil {
			return c
		}
	}
	if f.SizesOnly {
		return k
	}
	if f.reserve == nil {
		f.reserve = func(n int) []byte { return make([]byte, n) }
	}
	k.Data = f.reserve(total + len(k.Lanes)*f.headroom)[:total]
	at := func(i int) []byte { return k.Data[k.Lanes[planes[i].lane].Base+offsets[i]:] }
	// A source that delivers one tap of all channels at a time, such as a matmul stored by row, is walked
	// in its own order. Channel by channel, every weight would be a cache miss.
	if f.readTap != nil {
		f.writePlanesByTap(planes, at)
		return k
	}
	var buf []float16.Float16
	for i, p := range planes {
		buf = f.writePlane(at(i), p, buf)
	}
	return k
}

// writeBiases writes the biases of plane p to the start of dst and returns the rest of dst. If the
// weights have no biases, it returns dst.
func (f *ChannelWeights) writeBiases(dst []byte, p plane) []byte {
	if f.Bias == nil {
		return dst
	}
	for n := range p.width {
		PutHalf(dst[layer.ElementBytes*n:], uint16(f.Bias(p.group, p.first+n)))
	}
	return dst[layer.ElementBytes*p.width:]
}

// writePlanesByTap writes the biases and weights of the planes, one tap after the other, as readTap
// delivers them. at(i) returns the memory of plane i.
func (f *ChannelWeights) writePlanesByTap(planes []plane, at func(plane int) []byte) {
	rows := make([][]byte, len(planes))
	for i, p := range planes {
		rows[i] = f.writeBiases(at(i), p)
	}
	buf := make([]float16.Float16, f.Channels)
	for k := range f.Taps {
		values := f.readTap(buf, k)
		if values == nil {
			return
		}
		for i, p := range planes {
			dst := rows[i][layer.ElementBytes*p.width*k:]
			for n, v := range values[p.first : p.first+p.width] {
				PutHalf(dst[layer.ElementBytes*n:], uint16(v))
			}
		}
	}
}

// writePlane writes the biases and weights of plane p to dst. It uses buf as working memory and
// returns it, possibly enlarged, for the next call.
func (f *ChannelWeights) writePlane(dst []byte, p plane, buf []float16.Float16) []float16.Float16 {
	dst = f.writeBiases(dst, p)
	if f.readChannel == nil {
		for n := range p.width {
			for k := range f.Taps {
				PutHalf(dst[layer.ElementBytes*(k*p.width+n):], uint16(f.Weight(p.group, p.first+n, k)))
			}
		}
		return buf
	}
	buf = slices.Grow(buf[:0], p.width*f.Taps)[:p.width*f.Taps]
	rows := make([][]float16.Float16, p.width)
	for n := range rows {
		if rows[n] = f.readChannel(buf[n*f.Taps:][:f.Taps], p.group, p.first+n); rows[n] == nil {
			return buf
		}
	}
	// Write blocks of taps, so that each cache line of a channel is read completely while it is
	// cached.
	const block = 32
	for from := 0; from < f.Taps; from += block {
		to := min(from+block, f.Taps)
		for n, row := range rows {
			at := layer.ElementBytes * (from*p.width + n)
			for _, v := range row[from:to] {
				PutHalf(dst[at:], uint16(v))
				at += layer.ElementBytes * p.width
			}
		}
	}
	return buf
}

func appendFP16(dst []byte, h float16.Float16) []byte {
	return binary.LittleEndian.AppendUint16(dst, uint16(h))
}

// padTo64Bytes appends zeros up to a multiple of 64 bytes.
func padTo64Bytes(b []byte) []byte {
	return append(b, make([]byte, -len(b)&63)...)
}

// appendLane adds a lane with contents b to k, padded with zeros to a multiple of 64 bytes.
func (k *Kernel) appendLane(b []byte) {
	k.Lanes = append(k.Lanes, Lane{len(k.Data), layer.RoundUp(len(b), 64)})
	k.Data = append(k.Data, padTo64Bytes(b)...)
}

// prependTable returns k with an activation table of 128 bytes added before each lane, or k itself
// if table is nil. It may reuse the memory of k.Data, so the caller must not use k afterwards. In
// programs, every lane with a table is 128 bytes longer (seen in 5 of 5 tasks). It is assumed that
// the table comes first.
func (k *Kernel) prependTable(table []byte) *Kernel {
	if table == nil {
		return k
	}
	whole := &Kernel{Coding: k.Coding}
	total := 0
	for _, l := range k.Lanes {
		n := layer.RoundUp(TableBytes+l.Size, 64)
		whole.Lanes = append(whole.Lanes, Lane{total, n})
		total += n
	}
	if k.Data == nil { // sizes alone
		return whole
	}
	whole.Data = slices.Grow(k.Data, total-len(k.Data))[:total]
	for i, l := range slices.Backward(k.Lanes) { // a lane moves up, over what followed it
		to := whole.Data[whole.Lanes[i].Base:][:whole.Lanes[i].Size]
		clear(to[TableBytes+copy(to[TableBytes:], whole.Data[l.Base:l.Base+l.Size]):])
		copy(to, table)
	}
	return whole
}
