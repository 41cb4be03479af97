package loader

import (
	"bytes"
	"math/bits"

	"anesim/hw/regs"
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
// output t2 equals input t0, 64 halves each.
func Identity() ([]byte, error) {
	kernel, err := PackDense(diagonal(identitySize), nil, 16)
	if err != nil {
		return nil, err
	}
	const bytes = identitySize * elementBytes
	port := Port{Shape: [4]int{1, 1, 1, identitySize}, Strides: [4]uint64{bytes, bytes, bytes, elementBytes}}
	in, out := port, port
	in.Name, in.Direction, in.Address, in.BAR = "t0", Input, identityInput, 5
	out.Name, out.Direction, out.Address, out.BAR = "t2", Output, identityOutput, 4
	b := &Builder{
		Procedure:     "main",
		Chain:         Sequence(prepareVector(identitySize), multiplyVector(identitySize, kernel)),
		Constants:     kernel.Data,
		Ports:         []Port{in, out},
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
	if c, err = b.Container(); err != nil {
		return nil, err
	}
	return c.Bytes(), nil
}

// IdentityProgram is Identity, read.
func IdentityProgram() (*Program, error) {
	file, err := Identity()
	if err != nil {
		return nil, err
	}
	return Read("identity", bytes.NewReader(file), int64(len(file)))
}

// diagonal is the n x n identity matrix.
func diagonal(n int) [][]uint16 {
	w := make([][]uint16, n)
	for i := range w {
		w[i] = make([]uint16, n)
		w[i][i] = halfOne
	}
	return w
}

// channelBytes is what a channel of a one-pixel tile takes in the L2.
const channelBytes = 16

// prepareVector turns a row of n halves into n channels in the L2.
func prepareVector(n uint32) *regs.Descriptor {
	t := newTask()
	t.shape(1, 1, 1, n)
	t.engines(4)
	t.passThrough()
	t.g.Common.Cfg = t.g.Common.Cfg.WithShPref(3).WithShMax(3).WithTranspose(true)
	row := n * elementBytes
	t.source1(stride{row, row, row, row}, true, 5)
	t.destination(stride{64, 64, 64 * n, 64 * n}, false, 0, 0)
	// The prepared vector stands at 0, the row as it came behind it, in tiles of at
	// most 128 halves.
	t.tile(channelBytes*n, min(row, 0x100), 1, 0)
	l := &t.g.L2
	l.ResultCfg = inL2()
	l.ResultChannelStride = l.ResultChannelStride.WithBytes(channelBytes)
	l.ResultRowStride = l.ResultRowStride.WithBytes(channelBytes * n)
	l.ResultDepthStride = l.ResultDepthStride.WithBytes(channelBytes * n)
	t.h.Control |= drainSource
	t.h.Bases = t.h.Bases.WithTBE(true)
	t.h.DebugLogEvents = t.h.DebugLogEvents.WithDebugLogEvents(0x28)
	return t.descriptor()
}

// multiplyVector multiplies the prepared vector by an n x n matrix and writes a row.
func multiplyVector(n uint32, k *Kernel) *regs.Descriptor {
	t := newTask()
	t.shape(n, n, 1, 1)
	t.engines(4)
	c := &t.g.Common
	// log2 of the output channels of an engine, at most 16 in one pass
	c.ConvCfg = c.ConvCfg.WithOCGSize(uint32(min(4, bits.Len32((n-1)/lanes))))
	c.Cfg = c.Cfg.WithSmallSourceMode(true).WithShPref(4).WithShMin(4).WithShMax(4).WithTranspose(true)
	t.kernel(k)
	t.source1(stride{64, 64, 64 * n, 64 * n}, false, 0)
	t.g.TileDMASrc.Src1DMAConfig |= describedSource
	row := n * elementBytes
	t.destination(stride{row, row, row, row}, true, 4, 0)
	l := &t.g.L2
	l.SourceCfg = l.SourceCfg.WithAConvRslt(true).WithDMAFmt(1).WithDMAIntl(1)
	l.Src1ChannelStride = l.Src1ChannelStride.WithBytes(channelBytes)
	l.Src1RowStride = l.Src1RowStride.WithBytes(channelBytes * n)
	l.Src1DepthStride = l.Src1DepthStride.WithBytes(channelBytes * n)
	l.ResultCfg = l.ResultCfg.WithDMAFmt(1).WithDMAIntl(1)
	t.streamed(channelBytes * n)
	t.h.Control |= drainResult
	return t.descriptor()
}
