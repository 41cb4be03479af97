package hw

import (
	"math"
	"sync/atomic"

	"anesim/hw/dma"
	"anesim/hw/evidence"
	"anesim/hw/regs"

	"github.com/x448/float16"
)

// Elements of 8 bits are whole numbers on the engines: a table sees the number that an
// element holds, and the number that it gives is rounded to an element (inferred from the
// one program of them, the negation of truth values, whose table is for numbers like any
// other). Whether their highest bit is a sign no program shows, so numbers from 0 to 127 are
// computed and a task that meets another claims nothing.
const maxByte = math.MaxInt8

// eightBit is a limit for a task of 8-bit elements that the values do not cover, nil for
// the form that a program shows: a table between two surfaces in memory.
func eightBit(g *regs.Groups, o *regs.Operands) *evidence.Limit {
	c := &g.Common
	if c.ChCfg.InFmt() == regs.FormatFP16 && c.ChCfg.OutFmt() == regs.FormatFP16 && (!o.Source2.Used || secondFormat(c.ChCfg) == regs.FormatFP16) {
		return nil
	}
	s, r := &o.Source1, &o.Result
	switch {
	case c.ChCfg.InFmt() != regs.FormatInt8A || c.ChCfg.OutFmt() != regs.FormatInt8A || o.Source2.Used:
		return notModelled("8-bit elements (Common.ChCfg %#x)", uint32(c.ChCfg))
	case g.Planar() || g.NE.MACCfg.OpMode() != regs.PassThrough:
		return notModelled("8-bit elements (Common.ChCfg %#x) of anything but a table", uint32(c.ChCfg))
	case !s.DRAM || !r.DRAM || s.L2 != regs.Streamed || r.L2 != regs.Streamed,
		s.Transposed || r.Transposed || s.Interleave > 1 || r.Interleave > 1:
		return notModelled("8-bit elements (Common.ChCfg %#x) that stay in the L2 or change their places", uint32(c.ChCfg))
	}
	return nil
}

// byteRows are rows of 8-bit elements as the numbers they hold.
type byteRows struct {
	view   dma.ByteView
	beyond *atomic.Bool // set by an element or a result beyond 0 to 127
}

func (b byteRows) Row(dst []half, c, y int) {
	for x, v := range b.view.Row(c, y)[:len(dst)] {
		if v > maxByte {
			b.beyond.Store(true)
		}
		dst[x] = float16.Fromfloat32(float32(v))
	}
}

func (b byteRows) SetRow(src []half, c, y, x int) {
	row := b.view.Row(c, y)[x:]
	for i, h := range src {
		n := math.RoundToEven(float64(h.Float32()))
		if !(n >= 0 && n <= maxByte) {
			b.beyond.Store(true)
			n = 0
		}
		row[i] = byte(n)
	}
}

// unsigned is the limit of a task that met an element beyond 0 to 127, nil of others.
func (j *job) unsigned() *evidence.Limit {
	if !j.beyond.Load() {
		return nil
	}
	return unspecified("8-bit elements beyond 0 to %d: no program shows whether their highest bit is a sign", maxByte)
}
