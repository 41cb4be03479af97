package planar

import (
	"fmt"
	"math"

	"github.com/x448/float16"
)

// PoolKind is what a window makes of its taps. The numbers are the compiler's
// ZinIrPoolingType; its channel forms are reductions over [AxisC].
type PoolKind uint8

const (
	PoolAverage PoolKind = 1
	PoolMax     PoolKind = 2
	PoolMin     PoolKind = 4
	PoolL1      PoolKind = 6 // sum of magnitudes
	PoolL2      PoolKind = 7 // root of the sum of squares
)

// Padding is what a window finds outside the tile. The numbers are the
// compiler's ZinIrPaddingMode, the meanings those of the words (assumed).
type Padding uint8

const (
	PadZero        Padding = 1
	PadNegative    Padding = 2 // -Inf, which never wins a maximum
	PadReplication Padding = 3 // the nearest element: a a | a b c | c c
	PadSymmetric   Padding = 5 // mirrored with the edge: b a | a b c | c b
	PadReflective  Padding = 6 // mirrored without it: c b | a b c | b a
	PadBackground  Padding = 7 // Window.Background
	PadDontCare    Padding = 8 // taps outside do not count at all
)

// Window is a pooling window in elements. Output (y, x) has its first tap at
// input row y*StrideH - BeforeH, column x*StrideW - BeforeW, as Common.ConvCfg
// has it (Kw, Kh, Sx, Sy, Px, Py); what comes after is implied by the output
// shape.
type Window struct {
	Kind             PoolKind
	KH, KW           int
	StrideH, StrideW int
	BeforeH, BeforeW int
	Padding          Padding
	Background       float16.Float16

	// ExcludePadding divides an average by the taps inside the tile. The
	// default counts all KH*KW (assumed: one FinalScale serves a whole task).
	ExcludePadding bool
}

// WindowError names the field of a [Window] that cannot be.
type WindowError struct {
	Field string
	Val   int
}

func (e *WindowError) Error() string {
	return fmt.Sprintf("planar: window %s is %d", e.Field, e.Val)
}

// Validate returns a [*WindowError] for an unknown kind or padding, an empty
// window or a stride that does not advance.
func (w *Window) Validate() error {
	switch {
	case w.Kind != PoolAverage && w.Kind != PoolMax && w.Kind != PoolMin && w.Kind != PoolL1 && w.Kind != PoolL2:
		return &WindowError{"Kind", int(w.Kind)}
	case w.Padding < PadZero || w.Padding > PadDontCare || w.Padding == 4:
		return &WindowError{"Padding", int(w.Padding)}
	case w.KH <= 0:
		return &WindowError{"KH", w.KH}
	case w.KW <= 0:
		return &WindowError{"KW", w.KW}
	case w.StrideH <= 0:
		return &WindowError{"StrideH", w.StrideH}
	case w.StrideW <= 0:
		return &WindowError{"StrideW", w.StrideW}
	}
	return nil
}

// Pool writes out.Len() elements of the pooled a, whose channels out must
// share. Taps join in row-major order in float32; an average multiplies by the
// float32 1/N, as FinalScale does, and rounds once. A window with no tap that
// counts gives +0. dst must not overlap a.
func (w *Window) Pool(dst []float16.Float16, out Shape, a Source) error {
	if err := w.Validate(); err != nil {
		return err
	}
	if err := a.check("source 1"); err != nil {
		return err
	}
	if err := (Source{dst, out}).check("destination"); err != nil {
		return err
	}
	if out.C != a.Shape.C {
		return &ShapeError{Operand: "destination", Got: out, Want: Shape{a.Shape.C, out.H, out.W}}
	}
	in := a.Shape
	i := 0
	for z := range in.C {
		p := plane{a.Data[z*in.H*in.W:][:in.H*in.W], in.H, in.W}
		for y := range out.H {
			top := y*w.StrideH - w.BeforeH
			for x := range out.W {
				left := x*w.StrideW - w.BeforeW
				var t taps
				t.start(w.Kind)
				if top >= 0 && left >= 0 && top+w.KH <= in.H && left+w.KW <= in.W {
					for r := range w.KH {
						t.row(p.data[(top+r)*in.W+left:][:w.KW])
					}
				} else {
					w.edge(&t, p, top, left)
				}
				dst[i] = t.result(w)
				i++
			}
		}
	}
	return nil
}

// taps is one window being joined.
type taps struct {
	kind   PoolKind
	acc    accumulator
	inside int // taps inside the tile
	counts int // taps that joined
}

func (t *taps) start(k PoolKind) {
	t.kind = k
	r := ReduceSum
	switch k {
	case PoolMax:
		r = ReduceMax
	case PoolMin:
		r = ReduceMin
	}
	t.acc = r.start()
}

func (t *taps) row(a []float16.Float16) {
	t.inside += len(a)
	t.counts += len(a)
	switch t.kind {
	case PoolL1, PoolL2:
		for _, h := range a {
			t.acc.take(t.term(wide[h]))
		}
	default:
		t.acc.row(a)
	}
}

func (t *taps) term(v float32) float32 {
	switch t.kind {
	case PoolL1:
		return float32(math.Abs(float64(v)))
	case PoolL2:
		return float32(v * v)
	}
	return v
}

func (t *taps) result(w *Window) float16.Float16 {
	if t.counts == 0 {
		return 0
	}
	v := float64(t.acc.v)
	switch t.kind {
	case PoolAverage:
		n := t.counts
		if w.ExcludePadding {
			n = t.inside
		}
		if n == 0 {
			return 0
		}
		v = float64(v * float64(1/float32(n)))
	case PoolL2:
		v = math.Sqrt(v)
	}
	return narrow64(v + 0)
}

// edge joins a window that leaves the tile.
func (w *Window) edge(t *taps, p plane, top, left int) {
	for y := top; y < top+w.KH; y++ {
		for x := left; x < left+w.KW; x++ {
			if y >= 0 && y < p.h && x >= 0 && x < p.w {
				t.inside++
				t.counts++
				t.acc.take(t.term(wide[p.data[y*p.w+x]]))
				continue
			}
			if w.Padding == PadDontCare || w.ExcludePadding && w.Kind == PoolAverage {
				continue
			}
			t.counts++
			t.acc.take(t.term(w.outside(p, y, x)))
		}
	}
}

func (w *Window) outside(p plane, y, x int) float32 {
	switch w.Padding {
	case PadNegative:
		return float32(math.Inf(-1))
	case PadBackground:
		return wide[w.Background]
	case PadReplication:
		y, x = min(max(y, 0), p.h-1), min(max(x, 0), p.w-1)
	case PadSymmetric:
		y, x = mirror(y, p.h, 1), mirror(x, p.w, 1)
	case PadReflective:
		y, x = mirror(y, p.h, 0), mirror(x, p.w, 0)
	default:
		return 0
	}
	return wide[p.data[y*p.w+x]]
}

// plane is one channel of a tile.
type plane struct {
	data []float16.Float16
	h, w int
}

// mirror folds i into 0..n-1, as often as it takes. With edge 1 the outermost
// element appears twice, with 0 once.
func mirror(i, n, edge int) int {
	if n == 1 {
		return 0
	}
	period := 2 * (n - 1 + edge)
	i %= period
	if i < 0 {
		i += period
	}
	if i >= n {
		i = period - i - edge
	}
	return i
}
