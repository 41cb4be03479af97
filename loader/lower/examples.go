package lower

import (
	"bytes"
	"fmt"

	"github.com/x448/float16"

	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/internal/lower/chain"
	"anesim/loader/internal/lower/coeff"
	"anesim/loader/internal/lower/place"
	"anesim/loader/internal/lower/task"
	"anesim/loader/layer"
)

// The examples are small programs that cover the features of the reference containers. Each has
// the words of the compiler's program of 2020 for the same operation, with other shapes and
// values. That compiler stores a tile's row in the group stride, waits for every earlier task,
// and numbers its buffers from the last port down.
var examplePrograms = []struct {
	name  string
	build func() (*loader.Builder, error)
}{
	{"identity", newIdentityExample},
	{"conv", newConvExample},
	{"relu", newReLUExample},
	{"add", newAddExample},
	{"concat", newConcatExample},
}

// Examples returns the names of the example programs:
//
//   - identity: 64 channels through an identity matrix; see [Identity]
//   - conv: 1x1 convolution with bias, 5 to 3 channels of one pixel:
//     output n = bias n + sum over k of weight n,k * input k, where
//     bias n = n - 1 and weight n,k = n + k/2 - 1
//   - relu: 4 channels of 16 values
//   - add: 32 channels of one pixel, a + b
//   - concat: two inputs of 8 channels, the second after the first; two descriptors
func Examples() []string {
	var names []string
	for _, e := range examplePrograms {
		names = append(names, e.name)
	}
	return names
}

// Example returns the container file of the example program with the given name. It returns an
// error if the name is not one of [Examples].
func Example(name string) ([]byte, error) {
	for _, e := range examplePrograms {
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
	return nil, fmt.Errorf("unknown example %q; want one of %q", name, Examples())
}

// ExampleProgram returns the example program with the given name, loaded from its container. It
// returns an error if the name is not one of [Examples].
func ExampleProgram(name string) (*loader.Program, error) {
	file, err := Example(name)
	if err != nil {
		return nil, err
	}
	return loader.Read(name, bytes.NewReader(file), int64(len(file)))
}

// channelBytes is the number of bytes that a channel of one pixel occupies in L2.
const channelBytes = 16

// rowSurface returns the surface of a tensor with c channels of one row of w values.
func rowSurface(bar uint32, c, w int) place.Memory {
	m := place.Surface(bar, layer.Shape{N: 1, C: c, H: 1, W: w})
	m.Group = 0
	return m
}

func newRowPort(name string, d loader.Direction, bar uint32, c, w int) loader.Port {
	p := rowSurface(bar, c, w).ToPort(name, d, layer.Shape{N: 1, C: c, H: 1, W: w})
	p.Bytes = 0
	return p
}

func rowShape(channels, width int) regs.Shape {
	return regs.Shape{Groups: 1, Channels: channels, Height: 1, Width: width}
}

func newConvExample() (*loader.Builder, error) {
	const cin, cout = 5, 3
	f := coeff.ChannelWeights{
		Groups: 1, Channels: cout, Taps: cin,
		Weight: func(_, n, k int) float16.Float16 { return float16.Fromfloat32(float32(n) + float32(k)/2 - 1) },
		Bias:   func(_, n int) float16.Float16 { return float16.Fromfloat32(float32(n) - 1) },
	}
	k := f.Pack(1)
	t := task.NewPointwise2020(rowShape(cin, 1), rowShape(cout, 1))
	t.SetKernel(0, k.Lanes)
	t.LoadSource1(rowSurface(place.Bar5, cin, 1), place.Packed(rowShape(cin, 1)), false)
	task.StageResult2020(t, rowSurface(place.Bar4, cout, 1), place.Packed(rowShape(cout, 1)).Rebase(channelBytes*cin))
	descriptors, err := chain.Finish2020([]*task.Task{t})
	return &loader.Builder{
		Chain:     descriptors,
		Constants: k.Data,
		Ports:     []loader.Port{newRowPort("x", loader.Input, place.Bar5, cin, 1), newRowPort("y", loader.Output, place.Bar4, cout, 1)},
	}, err
}

// newRowCopy returns a task that copies one row per channel, with or without ReLU.
func newRowCopy(src, dst place.Memory, channels, width int, relu bool) *task.Task {
	s := rowShape(channels, width)
	t := task.NewCopy2020(s, relu)
	at := place.Packed(s)
	t.LoadSource1(src, at, false)
	t.WriteResult(dst, at.Row)
	return t
}

func newReLUExample() (*loader.Builder, error) {
	const channels, width = 4, 16
	t := newRowCopy(rowSurface(place.Bar5, channels, width), rowSurface(place.Bar4, channels, width), channels, width, true)
	descriptors, err := chain.Finish2020([]*task.Task{t})
	return &loader.Builder{
		Chain: descriptors,
		Ports: []loader.Port{newRowPort("x", loader.Input, place.Bar5, channels, width), newRowPort("y", loader.Output, place.Bar4, channels, width)},
	}, err
}

func newConcatExample() (*loader.Builder, error) {
	const channels = 8
	var tasks []*task.Task
	for i, bar := range []uint32{place.Bar6, place.Bar5} {
		y := rowSurface(place.Bar4, 2*channels, 1)
		y.Base = i * y.Depth / 2
		tasks = append(tasks, newRowCopy(rowSurface(bar, channels, 1), y, channels, 1, false))
	}
	descriptors, err := chain.Finish2020(tasks)
	return &loader.Builder{
		Chain: descriptors,
		Ports: []loader.Port{
			newRowPort("a", loader.Input, place.Bar6, channels, 1), newRowPort("b", loader.Input, place.Bar5, channels, 1),
			newRowPort("y", loader.Output, place.Bar4, 2*channels, 1),
		},
	}, err
}

// secondBase2020 returns where Apple's compiler of 2020 placed the second source in L2, after a
// first source of the given size in bytes: at a multiple of four units. This is read from one program,
// which has it at 0x440 after 0x420 bytes.
func secondBase2020(first int) int { return layer.RoundUp(first, 4*place.UnitBytes) }

func newAddExample() (*loader.Builder, error) {
	const channels = 32
	s := rowShape(channels, 1)
	t := task.NewSum2020(s)
	at := t.PlanarTile()
	at.Row = at.Depth + 2*place.UnitBytes // the compiler of 2020 adds two units
	at.Group = at.Depth
	second := secondBase2020(at.Row)
	t.LoadSource1(rowSurface(place.Bar6, channels, 1), at, false)
	t.LoadSource2(rowSurface(place.Bar5, channels, 1), at.Rebase(second))
	task.WriteResult2020(t, rowSurface(place.Bar4, channels, 1), second+at.Row)
	descriptors, err := chain.Finish2020([]*task.Task{t})
	return &loader.Builder{
		Chain: descriptors,
		Ports: []loader.Port{
			newRowPort("a", loader.Input, place.Bar6, channels, 1), newRowPort("b", loader.Input, place.Bar5, channels, 1),
			newRowPort("y", loader.Output, place.Bar4, channels, 1),
		},
	}, err
}
