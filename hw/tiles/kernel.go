package tiles

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/x448/float16"

	"anesim/hw/lanes"
	"anesim/hw/regs"
)

// A Kernel is the weights of a descriptor as its coefficient lanes hold them; packed ones
// are unpacked when it is made.
//
// Output channels go to the lanes in planes, which package lanes deals out. A plane has its
// channels side by side at half granularity, reduction step by reduction step:
//
//	lane 0: [bias row][step 0: w values][step 1] ...   plane 0, plane 16, ...
//	lane 1: [bias row][step 0: w values][step 1] ...   plane 1, plane 17, ...
//
// The groups of a grouped convolution follow each other in every lane, each padded to 64
// bytes.
//
// The taps of an input channel stand in the order of their stride phase, row phases
// outside: at stride 2 the even columns, then the odd ones. A task of Ox pixels a step
// has each channel Ox times in a plane, one kernel for each pixel over the columns that
// all of them need, zero where the pixel does not reach. That a pixel's kernels stand
// side by side is known for planes of one channel.
//
// Source: sections made so have the hashes of the compiler's, the 14 and the two pixels
// among them; the bytes of conv_1x1_3to2_bias.hwx and gemm_64x64.hwx.
type Kernel struct {
	layout
	lanes [Engines][]byte
	group [Engines]int // bytes from one group's planes to the next
}

// A layout is where a kernel's planes stand in its lanes.
type layout struct {
	channels int // output channels of a group
	inputs   int // input channels of an output
	kh, kw   int // the columns of all pixels of a step
	sy, sx   int
	taps     int  // of one pixel, columns that only the others need included
	pixels   int  // a step
	bias     int  // 1 when each plane starts with a row of biases
	alone    bool // every output channel reads its own input channel
	maxWidth int
}

// newLayout reads the layout of a multiply-accumulate task from its registers.
func newLayout(g *regs.Groups) layout {
	c := &g.Common
	l := layout{
		channels: int(c.Cout.Cout()),
		inputs:   int(c.Cin.Cin()),
		kh:       int(c.ConvCfg.Kh()), kw: columns(c.ConvCfg),
		sy: max(1, int(c.ConvCfg.Sy())), sx: max(1, int(c.ConvCfg.Sx())),
		pixels: max(1, int(c.ConvCfg.Ox())),
	}
	if c.GroupConvCfg.UnicastEn() {
		l.inputs, l.alone = 1, true
	}
	l.taps = l.inputs * l.kh * l.kw
	if g.NE.MACCfg.BiasMode() {
		l.bias = 1
	}
	l.maxWidth = lanes.Most(g, l.taps)
	return l
}

// A KernelError is a coefficient lane too short for its planes.
type KernelError struct {
	Lane       int
	Need, Have int // bytes
}

func (e *KernelError) Error() string {
	return fmt.Sprintf("coefficient lane %d holds %#x bytes, its planes need %#x", e.Lane, e.Have, e.Need)
}

// NewKernel describes the kernel of a multiply-accumulate task; lanes are the bytes of
// the coefficient buffers that are on, nil for the others. KernelCfg says how weights are
// packed: its format must be fp16 for dense ones, zero means int8.
func NewKernel(g *regs.Groups, lanes [Engines][]byte) (*Kernel, error) {
	k := &Kernel{layout: newLayout(g), lanes: lanes}
	need := k.laneBytes()
	groups := g.GroupCount()
	if groups > 1 {
		for i, n := range need {
			k.group[i] = (n + 63) &^ 63
		}
	}
	packing, note := PackingOf(g)
	if note != "" {
		return nil, errors.New(note)
	}
	if packing != Dense {
		return k, k.unpack(g, packing)
	}
	for i, n := range need {
		if n == 0 {
			continue
		}
		if total := (groups-1)*k.group[i] + n; total > len(lanes[i]) {
			return nil, &KernelError{i, total, len(lanes[i])}
		}
	}
	return k, nil
}

// A chunk is a run of output channels in planes of one width.
type chunk struct {
	first, channels int
	width           int
	off             int // fp16 values from the group's start in every lane
	planes          int // in each lane
}

// chunks yields the kernel's chunks in channel order.
func (l *layout) chunks(yield func(chunk) bool) {
	off := 0
	for first := 0; first < l.channels; {
		width, n := lanes.Planes(l.channels-first, l.maxWidth)
		c := chunk{first: first, width: width, off: off, planes: (n + Engines - 1) / Engines, channels: n * width}
		if !yield(c) {
			return
		}
		off += c.planes * l.planeHalves(c.width)
		first += c.channels
	}
}

// planeHalves is the size of a plane of width channels.
func (l *layout) planeHalves(width int) int { return width * l.pixels * (l.taps + l.bias) }

// laneBytes is what one group needs of each lane.
func (l *layout) laneBytes() (need [Engines]int) {
	for c := range l.chunks {
		end := 2 * (c.off + c.planes*l.planeHalves(c.width))
		for i := range min(Engines, (c.channels+c.width-1)/c.width) {
			need[i] = end
		}
	}
	return need
}

// place is the lane of a pixel of an output channel, the byte offset of its first half
// there, and the bytes from one step to the next.
func (k *Kernel) place(group, channel, pixel int) (lane, at, step int) {
	for c := range k.chunks {
		if channel >= c.first+c.channels {
			continue
		}
		i := channel - c.first
		p := i / c.width
		off := c.off + p/Engines*k.planeHalves(c.width) + i%c.width*k.pixels + pixel
		lane = p % Engines
		return lane, group*k.group[lane] + 2*off, 2 * c.width * k.pixels
	}
	panic("tiles: channel beyond the kernel's")
}

// Taps copies the reduction of one pixel of an output channel into dst, in stream order.
func (k *Kernel) Taps(dst []float16.Float16, group, channel, pixel int) {
	lane, at, step := k.place(group, channel, pixel)
	b := k.lanes[lane][at+k.bias*step:]
	for i := range dst[:k.taps] {
		dst[i] = float16.Float16(binary.LittleEndian.Uint16(b[i*step:]))
	}
}

// Bias is the bias of one pixel of an output channel, +0 without a bias stream.
func (k *Kernel) Bias(group, channel, pixel int) float16.Float16 {
	if k.bias == 0 {
		return 0
	}
	lane, at, _ := k.place(group, channel, pixel)
	return float16.Float16(binary.LittleEndian.Uint16(k.lanes[lane][at:]))
}
