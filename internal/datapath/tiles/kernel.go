package tiles

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/x448/float16"

	"anesim/hw/regs"
	"anesim/internal/datapath/lanes"
)

// A Kernel holds the weights of a descriptor as stored in its weight lanes. Packed weights are
// unpacked when it is created.
//
// Output channels are distributed to the lanes in planes, as defined by package lanes. A plane
// stores its channels interleaved as fp16 values, one reduction step after another:
//
//	lane 0: [bias row][step 0: w values][step 1] ...   plane 0, plane 16, ...
//	lane 1: [bias row][step 0: w values][step 1] ...   plane 1, plane 17, ...
//
// The groups of a grouped convolution follow each other in every lane, each padded to 64 bytes.
//
// The taps of an input channel are ordered by stride phase, with row phases in the outer loop: at
// stride 2 the even columns come before the odd ones. In a task with Ox pixels per step, a plane
// contains each channel Ox times, with one kernel per pixel. Each kernel covers the columns of all
// pixels and is zero where its pixel does not reach. That the kernels of a channel's pixels are
// adjacent is known only for planes of one channel.
//
// Evidence: weight sections packed in this way have the same hashes as the compiler's, including
// sections with planes of 14 channels and sections for two pixels per step. The layout also matches
// the bytes of conv_1x1_3to2_bias.hwx and gemm_64x64.hwx.
type Kernel struct {
	layout
	lanes [Engines][]byte
	group [Engines]int // bytes between the planes of consecutive groups
}

// A layout says where the weights of each output channel are in the weight streams.
type layout struct {
	channels int // output channels per group
	inputs   int // input channels per output
	kh, kw   int // columns for all pixels of a step
	sy, sx   int
	taps     int  // per pixel, including columns that only other pixels need
	pixels   int  // per step
	bias     int  // 1 if each plane starts with a row of biases
	unicast  bool // every output channel reads only its own input channel
	maxWidth int
}

// newLayout returns the layout that the registers of a multiply-accumulate select.
func newLayout(g *regs.Groups) layout {
	c := &g.Common
	l := layout{
		channels: int(c.Cout.Cout()),
		inputs:   int(c.Cin.Cin()),
		kh:       int(c.ConvCfg.Kh()), kw: countStepColumns(c.ConvCfg),
		sy: max(1, int(c.ConvCfg.Sy())), sx: max(1, int(c.ConvCfg.Sx())),
		pixels: max(1, int(c.ConvCfg.Ox())),
	}
	if c.GroupConvCfg.UnicastEn() {
		l.inputs, l.unicast = 1, true
	}
	l.taps = l.inputs * l.kh * l.kw
	if g.NE.MACCfg.BiasMode() {
		l.bias = 1
	}
	l.maxWidth = lanes.Most(g, l.taps)
	return l
}

// A KernelError reports a weight stream that has fewer bytes than its task needs.
type KernelError struct {
	Lane       int
	Need, Have int // bytes
}

func (e *KernelError) Error() string {
	return fmt.Sprintf("weight lane %d holds %#x bytes; its planes need %#x", e.Lane, e.Have, e.Need)
}

// NewKernel returns the weights of a multiply-accumulate task with registers g. The element
// lanes[i] holds the bytes of the weight stream of engine i, or nil if the stream is off. The
// registers say how the weights are packed. NewKernel returns a *[KernelError] if a stream is too
// short, or another error if the model cannot unpack the weights.
func NewKernel(g *regs.Groups, lanes [Engines][]byte) (*Kernel, error) {
	k, packing, err := newPackedKernel(g, lanes)
	if err == nil && packing != Dense {
		err = k.unpackWeights(g, packing, nil)
	}
	return k, err
}

// newPackedKernel is like [NewKernel], but leaves the weights packed and also returns their storage
// format.
func newPackedKernel(g *regs.Groups, lanes [Engines][]byte) (*Kernel, Packing, error) {
	k := &Kernel{layout: newLayout(g), lanes: lanes}
	need := k.countLaneBytes()
	groups := g.GroupCount()
	if groups > 1 {
		for i, n := range need {
			k.group[i] = (n + 63) &^ 63
		}
	}
	packing, note := PackingOf(g)
	if note != "" {
		return nil, packing, errors.New(note)
	}
	if packing != Dense {
		return k, packing, nil
	}
	for i, n := range need {
		if n == 0 {
			continue
		}
		if total := (groups-1)*k.group[i] + n; total > len(lanes[i]) {
			return nil, packing, &KernelError{i, total, len(lanes[i])}
		}
	}
	return k, packing, nil
}

// A chunk is a range of output channels that are stored in planes of the same width.
type chunk struct {
	first, channels int
	width           int
	off             int // offset in fp16 values from the start of the group, in every lane
	planes          int // planes per lane
}

// forEachChunk calls yield for the chunks of a group, in the order of their channels, until yield
// returns false.
func (l *layout) forEachChunk(yield func(chunk) bool) {
	off := 0
	for first := 0; first < l.channels; {
		width, n := lanes.Planes(l.channels-first, l.maxWidth)
		c := chunk{first: first, width: width, off: off, planes: (n + Engines - 1) / Engines, channels: n * width}
		if !yield(c) {
			return
		}
		off += c.planes * l.countPlaneHalves(c.width)
		first += c.channels
	}
}

// countPlaneHalves returns the number of fp16 values in a plane of the given width in channels.
func (l *layout) countPlaneHalves(width int) int { return width * l.pixels * (l.taps + l.bias) }

// countLaneBytes returns the number of bytes that each weight stream has for one group.
func (l *layout) countLaneBytes() (need [Engines]int) {
	for c := range l.forEachChunk {
		end := 2 * (c.off + c.planes*l.countPlaneHalves(c.width))
		for i := range min(Engines, (c.channels+c.width-1)/c.width) {
			need[i] = end
		}
	}
	return need
}

// locateWeights finds the weights of one output channel. It returns the stream that holds them, the
// offset of the first weight in bytes, and the distance between two weights in bytes.
func (k *Kernel) locateWeights(group, channel, pixel int) (lane, at, step int) {
	for c := range k.forEachChunk {
		if channel >= c.first+c.channels {
			continue
		}
		i := channel - c.first
		p := i / c.width
		off := c.off + p/Engines*k.countPlaneHalves(c.width) + i%c.width*k.pixels + pixel
		lane = p % Engines
		return lane, group*k.group[lane] + 2*off, 2 * c.width * k.pixels
	}
	panic("tiles: channel out of range")
}

// Taps copies the weights of one output channel to dst, in the order in which the engine reduces
// them. In a task that computes several pixels per step, each pixel has its own weights.
func (k *Kernel) Taps(dst []float16.Float16, group, channel, pixel int) {
	lane, at, step := k.locateWeights(group, channel, pixel)
	b := k.lanes[lane][at+k.bias*step:]
	for i := range dst[:k.taps] {
		dst[i] = float16.Float16(binary.LittleEndian.Uint16(b[i*step:]))
	}
}

// Bias returns the bias of one output channel, or +0 if the task has no bias. In a task that
// computes several pixels per step, each pixel has its own bias.
func (k *Kernel) Bias(group, channel, pixel int) float16.Float16 {
	if k.bias == 0 {
		return 0
	}
	lane, at, _ := k.locateWeights(group, channel, pixel)
	return float16.Float16(binary.LittleEndian.Uint16(k.lanes[lane][at:]))
}
