package tiles

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"github.com/x448/float16"

	"anesim/hw/regs"
)

// A Kernel is the weights of a descriptor as its coefficient lanes hold them; packed ones
// are unpacked when it is made.
//
// Output channels go to the lanes in planes. A plane interleaves width channels at half
// granularity, reduction step by reduction step; width is the largest power of two that
// gives every lane a plane, at most 2^OCGSize. Planes are dealt to lanes in turn, and
// channels that a width cannot cover take the next smaller one:
//
//	lane 0: [bias row][step 0: w halves][step 1] ...   plane 0, plane 16, ...
//	lane 1: [bias row][step 0: w halves][step 1] ...   plane 1, plane 17, ...
//
// Below sixteen output channels that is one lane a channel. The groups of a grouped
// convolution follow each other, each padded to 64 bytes.
//
// Source: the layouts verified against section hashes in the programs' reference, and
// the bytes of conv_1x1_3to2_bias.hwx and gemm_64x64.hwx.
type Kernel struct {
	lanes    [Engines][]byte
	channels int // output channels of a group
	taps     int
	bias     int // 1 when each plane starts with a row of biases
	maxWidth int
	group    int // bytes from one group's planes to the next in a lane
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
	k := &Kernel{
		lanes:    lanes,
		channels: int(g.Common.Cout.Cout()),
		taps:     Taps(g),
		maxWidth: 1 << g.Common.ConvCfg.OCGSize(),
	}
	if g.NE.MACCfg.BiasMode() {
		k.bias = 1
	}
	if g.Common.Cfg.Transpose() && g.Common.OutDim.Wout() > 128 {
		// A lane's plane of a matrix multiply over more than 128 rows stays within the
		// 64 KiB of kernel memory (inferred by the layout's reference).
		for k.maxWidth > 1 && k.maxWidth*k.taps > 32768 {
			k.maxWidth /= 2
		}
	}
	need := k.laneBytes()
	groups := g.GroupCount()
	if groups > 1 {
		k.group = (need[0] + 63) &^ 63
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
		if total := (groups-1)*k.group + n; total > len(lanes[i]) {
			return nil, &KernelError{i, total, len(lanes[i])}
		}
	}
	return k, nil
}

// width is the channels a plane interleaves when rest are still to be placed.
func (k *Kernel) width(rest int) int {
	if rest < Engines {
		return 1
	}
	return min(1<<(bits.Len(uint(rest/Engines))-1), k.maxWidth)
}

// A chunk is a run of output channels in planes of one width.
type chunk struct {
	first, channels int
	width           int
	off             int // halves from the group's start in every lane
	planes          int // in each lane
}

// chunks yields the kernel's chunks in channel order.
func (k *Kernel) chunks(yield func(chunk) bool) {
	off := 0
	for first := 0; first < k.channels; {
		rest := k.channels - first
		c := chunk{first: first, width: k.width(rest), off: off, planes: 1, channels: rest}
		if rest >= Engines {
			c.planes = rest / (Engines * c.width)
			c.channels = c.planes * Engines * c.width
		}
		if !yield(c) {
			return
		}
		off += c.planes * c.width * (k.taps + k.bias)
		first += c.channels
	}
}

// laneBytes is what one group needs of each lane.
func (k *Kernel) laneBytes() (need [Engines]int) {
	for c := range k.chunks {
		end := 2 * (c.off + c.planes*c.width*(k.taps+k.bias))
		for i := range min(Engines, (c.channels+c.width-1)/c.width) {
			need[i] = end
		}
	}
	return need
}

// place is the lane of an output channel, the byte offset of its first half there, and
// the bytes from one step to the next.
func (k *Kernel) place(group, channel int) (lane, at, step int) {
	for c := range k.chunks {
		if channel >= c.first+c.channels {
			continue
		}
		i := channel - c.first
		p := i / c.width
		off := c.off + p/Engines*c.width*(k.taps+k.bias) + i%c.width
		return p % Engines, group*k.group + 2*off, 2 * c.width
	}
	panic("tiles: channel beyond the kernel's")
}

// Taps copies the reduction of one output channel into dst, in stream order.
func (k *Kernel) Taps(dst []float16.Float16, group, channel int) {
	lane, at, step := k.place(group, channel)
	b := k.lanes[lane][at+k.bias*step:]
	for i := range dst[:k.taps] {
		dst[i] = float16.Float16(binary.LittleEndian.Uint16(b[i*step:]))
	}
}

// Bias is the bias of one output channel, +0 without a bias stream.
func (k *Kernel) Bias(group, channel int) float16.Float16 {
	if k.bias == 0 {
		return 0
	}
	lane, at, _ := k.place(group, channel)
	return float16.Float16(binary.LittleEndian.Uint16(k.lanes[lane][at:]))
}
