package loader

import (
	"bytes"
	"fmt"

	"anesim/hw/regs"

	"github.com/x448/float16"
)

// The examples are small programs of our own over the paths the reference containers
// take. Each is modelled word by word on the compiler's program of 2020 for the same
// operation, over other shapes and values.
var examples = []struct {
	name  string
	build func() (*Builder, error)
}{
	{"conv", convExample},
	{"relu", reluExample},
	{"add", addExample},
	{"concat", concatExample},
}

// Examples names the example programs.
//
//   - identity: 64 channels through an identity matrix; see Identity
//   - conv: 1x1 convolution with bias, 5 to 3 channels of one pixel:
//     output n = bias n + sum over k of weight n,k * input k, where
//     bias n = n - 1 and weight n,k = n + k/2 - 1
//   - relu: 4 channels of 16 values
//   - add: 32 channels of one pixel, a + b
//   - concat: two inputs of 8 channels, one behind the other; two descriptors
func Examples() []string {
	names := []string{"identity"}
	for _, e := range examples {
		names = append(names, e.name)
	}
	return names
}

// Example is the container of an example program, an error for an unknown name.
func Example(name string) ([]byte, error) {
	if name == "identity" {
		return Identity()
	}
	for _, e := range examples {
		if e.name != name {
			continue
		}
		b, err := e.build()
		if err != nil {
			return nil, err
		}
		c, err := b.Container()
		if err != nil {
			return nil, err
		}
		return c.Bytes(), nil
	}
	return nil, fmt.Errorf("no example %q; there are %q", name, Examples())
}

// ExampleProgram is Example, read.
func ExampleProgram(name string) (*Program, error) {
	file, err := Example(name)
	if err != nil {
		return nil, err
	}
	return Read(name, bytes.NewReader(file), int64(len(file)))
}

// packed is a port whose rows take one 64-byte unit.
func packed(name string, d Direction, bar int, c, w int) Port {
	plane := roundUp(uint64(w)*elementBytes, TileSize)
	return Port{
		Name: name, Direction: d, BAR: bar, Shape: [4]int{1, c, 1, w},
		Strides: [4]uint64{plane * uint64(c), plane, plane, elementBytes},
	}
}

func half(v float32) uint16 { return float16.Fromfloat32(v).Bits() }

func convExample() (*Builder, error) {
	const cin, cout = 5, 3
	weights, bias := make([][]uint16, cout), make([]uint16, cout)
	for n := range weights {
		bias[n] = half(float32(n) - 1)
		for k := range cin {
			weights[n] = append(weights[n], half(float32(n)+float32(k)/2-1))
		}
	}
	kernel, err := PackLanes(weights, bias)
	if err != nil {
		return nil, err
	}
	t := newTask()
	t.shape(cin, cout, 1, 1)
	t.engines(2)
	c := &t.g.Common
	c.Cfg = c.Cfg.WithSmallSourceMode(true).WithShPref(4).WithShMin(4).WithShMax(4).WithAccDoubleBufEn(true)
	t.g.NE.MACCfg = t.g.NE.MACCfg.WithBiasMode(true)
	t.kernel(kernel)
	t.source1(stride{64, 64, 64 * cin, 0}, true, 5)
	t.destination(stride{64, 64, 64 * cout, 0}, true, 4, 0)
	t.tile(0, channelBytes, cin, 0)
	l := &t.g.L2
	l.ResultCfg = throughMemory()
	l.ResultBase = l.ResultBase.WithBytes(channelBytes * cin)
	l.ResultChannelStride = l.ResultChannelStride.WithBytes(channelBytes)
	l.ResultRowStride = l.ResultRowStride.WithBytes(channelBytes * cout)
	l.ResultDepthStride = l.ResultDepthStride.WithBytes(channelBytes * cout)
	l.ResultGroupStride = l.ResultGroupStride.WithBytes(channelBytes * cout)
	t.h.Control |= drainBoth
	return &Builder{
		Chain:     Sequence(t.descriptor()),
		Constants: kernel.Data,
		Ports:     []Port{packed("x", Input, 5, cin, 1), packed("y", Output, 4, cout, 1)},
	}, nil
}

// copyTask is a pass-through over channels of one row.
func copyTask(channels, width, engines uint32) *task {
	t := newTask()
	t.shape(channels, channels, 1, width)
	t.engines(engines)
	t.passThrough()
	c := &t.g.Common
	c.Cfg = c.Cfg.WithShPref(1).WithShMin(1).WithShMax(1).WithAccDoubleBufEn(true)
	n := &t.g.NE // no coefficients, so no format of theirs
	n.KernelCfg = n.KernelCfg.WithKernelFmt(0)
	n.MACCfg = n.MACCfg.WithBinaryPoint(0)
	channel := uint32(roundUp(uint64(width)*elementBytes, channelBytes))
	t.tile(0, channel, channels, 0)
	l := &t.g.L2
	l.ResultCfg = throughMemory()
	t.streamed(channel * channels)
	t.h.Control |= drainBoth
	return t
}

func reluExample() (*Builder, error) {
	const channels, width = 4, 16
	t := copyTask(channels, width, 2)
	t.g.NE.MACCfg = t.g.NE.MACCfg.WithNonlinearMode(regs.ReLU)
	t.source1(stride{64, 64, 64 * channels, 0}, true, 5)
	t.destination(stride{64, 64, 64 * channels, 0}, true, 4, 0)
	return &Builder{
		Chain: Sequence(t.descriptor()),
		Ports: []Port{packed("x", Input, 5, channels, width), packed("y", Output, 4, channels, width)},
	}, nil
}

func concatExample() (*Builder, error) {
	const channels = 8
	var chain []*regs.Descriptor
	for i, bar := range []uint32{6, 5} {
		t := copyTask(channels, 1, 3)
		t.source1(stride{64, 64, 64 * channels, 0}, true, bar)
		t.destination(stride{64, 64, 2 * 64 * channels, 0}, true, 4, uint32(i)*64*channels)
		if i == 0 {
			t.h.Bases = t.h.Bases.WithTBE(true)
			t.h.DebugLogEvents = t.h.DebugLogEvents.WithDebugLogEvents(0xfff868)
		}
		chain = append(chain, t.descriptor())
	}
	return &Builder{
		Chain: Sequence(chain...),
		Ports: []Port{
			packed("a", Input, 6, channels, 1), packed("b", Input, 5, channels, 1),
			packed("y", Output, 4, 2*channels, 1),
		},
	}, nil
}

func addExample() (*Builder, error) {
	const channels, skew = 32, 0x20
	t := newTask()
	t.shape(channels, channels, 1, 1)
	c := &t.g.Common
	c.ChCfg |= 1 << 3 // two sources on the planar engine (bytes: 0x2a)
	c.Cfg = c.Cfg.WithPlanarForm(regs.FormTwoSources) | 1<<1
	c.PlanarPatch = c.PlanarPatch.WithLog2W(4)
	c.TaskInfo = 0
	s := stride{64, 64, 64 * channels, 0}
	t.source1(s, true, 6)
	t.source2(s, 5)
	t.destination(s, true, 4, 0)
	t.g.TileDMADst.DstFmt = t.g.TileDMADst.DstFmt.WithZeroPadLast(false).WithZeroPadFirst(false)
	t.tile(0, channelBytes, channels, skew)
	l := &t.g.L2
	const tile = channelBytes * channels
	second := uint32(roundUp(tile+skew, TileSize))
	l.SourceCfg |= twoSourceBit
	l.Src2Base = l.Src2Base.WithBytes(second)
	l.Src2ChannelStride = l.Src2ChannelStride.WithBytes(channelBytes)
	l.Src2RowStride = l.Src2RowStride.WithBytes(tile + skew)
	l.Src2DepthStride = l.Src2DepthStride.WithBytes(tile)
	l.Src2GroupStride = l.Src2GroupStride.WithBytes(tile)
	l.ResultCfg = throughMemory()
	t.streamed(second + tile + skew)
	pe := &t.g.PE
	pe.Cfg = pe.Cfg.WithOpMode(regs.PlanarAdd).WithSecSrc(2)
	pe.BiasScale = pe.BiasScale.WithScale(halfOne)
	pe.PreScale = pe.PreScale.WithScale(halfOne)
	pe.FinalScale = pe.FinalScale.WithFinalScale(singleOne)
	ne := &t.g.NE
	ne.KernelCfg, ne.MACCfg, ne.PostScale = 0, 0, 0
	t.h.Control |= drainBoth
	return &Builder{
		Chain: Sequence(t.descriptor()),
		Ports: []Port{packed("a", Input, 6, channels, 1), packed("b", Input, 5, channels, 1), packed("y", Output, 4, channels, 1)},
	}, nil
}

// singleOne is 1 in fp32.
const singleOne = 0x3f800000
