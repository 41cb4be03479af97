package hw

import (
	"math"
	"sync/atomic"

	"anesim/hw/dma"
	"anesim/hw/evidence"
	"anesim/hw/regs"

	"github.com/x448/float16"
)

// MaxByte is the largest 8-bit element that the model computes. The engines treat 8-bit elements as
// whole numbers: a table reads the number that an element holds, and its result is rounded to an
// element. This is inferred from the one program that uses them, the negation of truth values,
// whose table works for any number. A tie is rounded away from zero, as an M5 Pro quantizes all
// finite fp16 values (cadamcat/llms-on-apple-neural-engine). No program shows whether the highest bit is a sign. Numbers
// from 0 to 127 are therefore computed, and a task that meets another one claims no values.
const MaxByte = math.MaxInt8

// findEightBitLimit returns an [evidence.Limit] if a task has 8-bit elements in a form that the
// model does not compute, and nil otherwise. The model computes the one form that a program shows,
// which is a table between two surfaces in memory.
func findEightBitLimit(g *regs.Groups, o *regs.Operands) *evidence.Limit {
	c := &g.Common
	if c.ChCfg.InFmt() == regs.FormatFP16 && c.ChCfg.OutFmt() == regs.FormatFP16 && (!o.Source2.Used || c.ChCfg.Src2Fmt() == regs.FormatFP16) {
		return nil
	}
	s, r := &o.Source1, &o.Result
	switch {
	case c.ChCfg.InFmt() != regs.FormatInt8A || c.ChCfg.OutFmt() != regs.FormatInt8A || o.Source2.Used:
		return newNotModeledLimit("8-bit elements (Common.ChCfg %v) are supported only in format %v and without a second source", c.ChCfg, regs.FormatInt8A)
	case g.Planar() || g.NE.MACCfg.OpMode() != regs.PassThrough:
		return newNotModeledLimit("8-bit elements (Common.ChCfg %v) are supported only in pass-through tasks of the array", c.ChCfg)
	case !s.DRAM || !r.DRAM || s.L2 != regs.Streamed || r.L2 != regs.Streamed,
		s.Transposed || r.Transposed || s.Interleave > 1 || r.Interleave > 1:
		return newNotModeledLimit("8-bit elements (Common.ChCfg %v) are supported only in memory, neither transposed nor interleaved", c.ChCfg)
	}
	return nil
}

// byteRows reads and writes rows of 8-bit elements as the numbers they hold.
type byteRows struct {
	view   dma.ByteView
	beyond *atomic.Bool // set by an element or a result outside 0 to 127
}

func (b byteRows) Row(dst []half, c, y int) {
	for x, v := range b.view.Row(c, y)[:len(dst)] {
		if v > MaxByte {
			b.beyond.Store(true)
		}
		dst[x] = float16.Fromfloat32(float32(v))
	}
}

func (b byteRows) SetRow(src []half, c, y, x int) {
	row := b.view.Row(c, y)[x:]
	for i, h := range src {
		n := math.Round(float64(h.Float32()))
		if !(n >= 0 && n <= MaxByte) {
			b.beyond.Store(true)
			n = 0
		}
		row[i] = byte(n)
	}
}

// findByteRangeLimit returns an [evidence.Limit] if the task read an element outside the range 0 to
// 127, and nil otherwise.
func (j *job) findByteRangeLimit() *evidence.Limit {
	if !j.beyond.Load() {
		return nil
	}
	return newUnspecifiedLimit("8-bit element is outside 0 to %d; no program shows whether the highest bit is a sign", MaxByte)
}
