package hw

import (
	"math"
	"sync/atomic"

	"github.com/x448/float16"

	"anesim/hw/dma"
	"anesim/hw/evidence"
)

// MaxByte is the largest 8-bit element that the model computes. The engines treat 8-bit elements as whole
// numbers: a table reads the number that an element holds, and its result is rounded to an element. This
// is inferred from the one program that uses them, the negation of truth values, whose table works for any
// number. A tie is rounded away from zero, as an M5 Pro quantizes all finite fp16 values
// (cadamcat/llms-on-apple-neural-engine). No program shows whether the highest bit is a sign. Numbers from
// 0 to 127 are therefore computed, and a task that meets another one claims no values.
const MaxByte = math.MaxInt8

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
	return evidence.Unspecified("8-bit element is outside 0 to %d; no program shows whether the highest bit is a sign", MaxByte)
}
