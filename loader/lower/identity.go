package lower

import (
	"github.com/x448/float16"

	"anesim/hw/execycles"
	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/internal/lower/chain"
	"anesim/loader/internal/lower/coeff"
	"anesim/loader/internal/lower/place"
	"anesim/loader/internal/lower/task"
	"anesim/loader/layer"
)

// The worked identity layer of the format document has 64 input channels, 64 output channels, and
// a matrix that copies them. Its addresses, sizes and header values come from tables 23.6, 23.7
// and 23.9 of the document. Its words are those of the compiler's matrix-vector program with K =
// N = 256, scaled to 64. Some details are not in the document, or cannot be reproduced:
//
//   - Table 23.7 labels the first bytes, "08 04", a register-count base. They are the log events of the first
//     descriptor, 0x408; and "28" at 0x10 is its debug events, which are 0x68 in the compiler's other programs.
//   - The document counts seven segment commands and lists five. The other two are written empty.
//   - Of the 24 element types ten are known from other containers, and the document quotes two. These twelve are
//     written.
//   - The number and the contents of the source note are not given, nor is most of the banner. The note is written as
//     LC_NOTE, with the length that the total size of the commands requires.
//   - No scratch segment is listed. Both tasks of the compiler's program name buffer 3 without using it; here neither
//     names it. The vector passes through L2 from one task to the other, as in the compiler's layer norms.
const (
	identitySize     = 64 // channels
	identityCommands = 0x32d8
	identityInput    = 0x30008000
	identityOutput   = 0x3000c000
	identityText     = 0x30010000
	identityWeights  = 0x30018000
	identityEvents   = 0x28 // debug events of the first descriptor, from table 23.7
	identityBanner   = `ANEC v1
zin_ane_compiler v9.509.0
	-t h13g
	--fl2-cache-mode=resident
	--fkernel-rewind=enabled
	--split-kernel-section=true
	--max-kernel-section-size=134217728
	--e4m3-overflow-setting=Saturate
	--memcache-size=4194304
	--bss-limit=3221225472
	--foptimize-ne-utilization=true
	--enable-global-cw-optimization=true
	-i model.mil
	-o model.hwx.tmp
`
)

// Identity returns the container file of a program that copies 64 fp16 values from its input t0 to
// its output t2. The command "anesim run" runs this program if it is given no file.
func Identity() ([]byte, error) { return Example("identity") }

// IdentityProgram returns the program of [Identity], loaded from its container.
func IdentityProgram() (*loader.Program, error) { return ExampleProgram("identity") }

func newIdentityExample() (*loader.Builder, error) {
	const n = identitySize * layer.ElementBytes
	port := loader.Port{Shape: [4]int{1, 1, 1, identitySize}, Strides: [4]uint64{n, n, n, layer.ElementBytes}}
	in, out := port, port
	in.Name, in.Direction, in.Address, in.BAR = "t0", loader.Input, identityInput, place.Bar5
	out.Name, out.Direction, out.Address, out.BAR = "t2", loader.Output, identityOutput, place.Bar4
	tasks, constants := lowerIdentityProduct(identitySize)
	descriptors := chain.Finish(tasks, execycles.H13G)
	chain.SetDebugEvents(descriptors[0], identityEvents)
	b := &loader.Builder{
		Procedure:     "main",
		Chain:         descriptors,
		Constants:     constants,
		Ports:         []loader.Port{in, out},
		TextAddr:      identityText,
		ConstantsAddr: identityWeights,
		Banner:        identityBanner,
		Empty:         []string{"__DATA", "__LINKEDIT"},
		NoteBytes:     40,
	}
	c, err := b.Container()
	if err != nil {
		return nil, err
	}
	for _, l := range c.Loads {
		b.NoteBytes -= len(l.Raw())
	}
	b.NoteBytes += identityCommands
	return b, task.FirstError(tasks)
}

// lowerIdentityProduct returns the tasks and the constants that multiply a row of n values by the
// n x n identity matrix.
func lowerIdentityProduct(n int) ([]*task.Task, []byte) {
	f := coeff.ChannelWeights{Groups: 1, Channels: n, Taps: n, Weight: func(_, c, k int) float16.Float16 {
		if c != k {
			return 0
		}
		return task.HalfOne
	}}
	k := f.Pack(16)
	in, out := rowShape(1, n), rowShape(n, 1)
	values := place.Memory{Row: n * layer.ElementBytes, Plane: n * layer.ElementBytes, Depth: n * layer.ElementBytes, Group: n * layer.ElementBytes}
	x, y := values, values
	x.Bar, y.Bar = place.Bar5, place.Bar4
	staged := place.Surface(0, layer.Shape{N: 1, C: n, H: 1, W: 1})
	staged.Row = staged.Plane

	prep := task.NewTranspose(in)
	tile := place.Packed(out)
	prep.LoadSource1(x, place.TransposeSource(1, n).Rebase(tile.Row), false)
	kept := prep.KeepDescribedResult(tile, staged)

	t := task.MAC{Op: regs.MultiplyAccumulate, In: out, Out: out, Window: task.Pointwise, Transpose: true}.Task()
	t.ReadDescribedTile(kept, kept.At, staged)
	t.SetKernel(0, k.Lanes)
	t.WriteResult(y, tile.Row)
	// No scratch segment is listed, so the tasks must not name its buffer.
	task.UnlistScratch(prep)
	task.UnlistScratch(t)
	return []*task.Task{prep, t}, k.Data
}
