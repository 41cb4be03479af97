package lower

import (
	"github.com/x448/float16"

	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/layer"
	"anesim/loader/lower/chain"
	"anesim/loader/lower/coeff"
	"anesim/loader/lower/place"
	"anesim/loader/lower/task"
)

// The worked identity layer of the format document: 64 channels in, 64 out, and a
// matrix that copies them. Its addresses, sizes and header values are the document's
// tables 23.6, 23.7 and 23.9; its words are those of the compiler's matrix-vector
// program of K = N = 256, scaled to 64. What the document leaves open, and what cannot
// be reproduced:
//
//   - Table 23.7 begins with "08 04" as a register-count base: it is the first
//     descriptor's log events, 0x408, and "28" at 0x10 its debug events, 0x68 in the
//     compiler's other programs.
//   - Seven segment commands are counted and five listed: the other two are written
//     empty.
//   - Of the 24 element types ten are known from other containers and two are quoted:
//     those twelve are written.
//   - The number and the contents of the source note are not given, nor most of the
//     banner: the note is LC_NOTE and as long as the commands' total size asks for.
//   - No scratch segment is listed, so neither task names buffer 3, which both name in
//     the compiler's program and which neither touches: the vector goes from the one to
//     the other through the L2. The layer normalisations of the compiler do the same.
const (
	identitySize     = 64 // channels
	identityCommands = 0x32d8
	identityInput    = 0x30008000
	identityOutput   = 0x3000c000
	identityText     = 0x30010000
	identityWeights  = 0x30018000
	identityEvents   = 0x28 // debug events of the first descriptor, table 23.7
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

// Identity is the container of the worked identity layer, the model's default program:
// output t2 equals input t0, 64 fp16 values each.
func Identity() ([]byte, error) { return Example("identity") }

// IdentityProgram is Identity, read.
func IdentityProgram() (*loader.Program, error) { return ExampleProgram("identity") }

func buildIdentity() (*loader.Builder, error) {
	const n = identitySize * layer.ElementBytes
	port := loader.Port{Shape: [4]int{1, 1, 1, identitySize}, Strides: [4]uint64{n, n, n, layer.ElementBytes}}
	in, out := port, port
	in.Name, in.Direction, in.Address, in.BAR = "t0", loader.Input, identityInput, place.Bar5
	out.Name, out.Direction, out.Address, out.BAR = "t2", loader.Output, identityOutput, place.Bar4
	tasks, constants := lowerIdentityProduct(identitySize)
	descriptors := chain.Finish(tasks)
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

// identityProduct multiplies a row of n values by the n x n identity matrix.
func lowerIdentityProduct(n int) ([]*task.Task, []byte) {
	f := coeff.ChannelWeights{Groups: 1, Channels: n, Taps: n, Weight: func(_, c, k int) float16.Float16 {
		if c != k {
			return 0
		}
		return task.HalfOne
	}}
	k := f.Pack(16)
	in, out := oneRow(1, n), oneRow(n, 1)
	values := place.Memory{Row: n * layer.ElementBytes, Plane: n * layer.ElementBytes, Depth: n * layer.ElementBytes, Group: n * layer.ElementBytes}
	x, y := values, values
	x.Bar, y.Bar = place.Bar5, place.Bar4
	staged := place.Surface(0, layer.Shape{N: 1, C: n, H: 1, W: 1})
	staged.Row = staged.Plane

	prep := task.NewTranspose(in)
	tile := place.Packed(out)
	prep.LoadSource1(x, place.TransposeSource(1, n).WithBase(tile.Row), false)
	kept := prep.KeepDescribedResult(tile, tile.Row, staged)

	t := task.MAC{Op: regs.MultiplyAccumulate, In: out, Out: out, Window: task.Pointwise, Transpose: true}.Task()
	t.ReadDescribedTile(kept, kept.At, staged)
	t.SetKernel(0, k.Lanes)
	t.WriteResult(y, tile.Row)
	// No scratch segment is listed: neither names its buffer.
	task.UnlistScratch(prep)
	task.UnlistScratch(t)
	return []*task.Task{prep, t}, k.Data
}
