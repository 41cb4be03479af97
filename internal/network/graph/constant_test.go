package graph

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/x448/float16"
)

// A stored is values of a file, which may be another one that was not read.
type stored struct {
	v       []float64
	outside bool
}

var errUnread = errors.New("the file ends")

func (s stored) External() bool { return s.outside }

func (s stored) Numbers() ([]float64, error) {
	if s.v == nil {
		return nil, errUnread
	}
	return s.v, nil
}

func (s stored) Halves() ([]float16.Float16, error) {
	if s.v == nil {
		return nil, errUnread
	}
	h := make([]float16.Float16, len(s.v))
	for i, x := range s.v {
		h[i] = float16.Fromfloat32(float32(x))
	}
	return h, nil
}

func (s stored) Each(func(i int, v float64)) error { return nil }

func newHalves(v ...float32) []float16.Float16 {
	h := make([]float16.Float16, len(v))
	for i, x := range v {
		h[i] = float16.Fromfloat32(x)
	}
	return h
}

// TestConst holds that values are the same whichever way a constant has them, and that finite
// values beyond fp16 become its largest number and are counted, while infinities stay.
func TestConst(t *testing.T) {
	numbers := []float64{1, -0.5, 1e9, -1e9, math.Inf(1)}
	want := []float32{1, -0.5, 65504, -65504, float32(math.Inf(1))}
	for _, c := range []*Const{
		{Dims: []int{5}, Type: Float, Numbers: numbers},
		{Dims: []int{5}, Type: Float, Source: stored{v: numbers}},
	} {
		v, err := c.Values()
		if err != nil || !slices.Equal(v, numbers) {
			t.Errorf("values are %v, %v", v, err)
		}
		h, err := c.Halves()
		if err != nil || !slices.Equal(h, newHalves(want...)) || c.Clamped != 2 {
			t.Errorf("halves are %v with %d beyond fp16, %v", h, c.Clamped, err)
		}
		if c.Elements() != 5 || c.Absent() {
			t.Errorf("%d elements, absent: %t", c.Elements(), c.Absent())
		}
	}
	c := &Const{Dims: []int{2}, Type: Float16, Half: newHalves(2, 0.25)}
	if v, err := c.Values(); err != nil || !slices.Equal(v, []float64{2, 0.25}) {
		t.Errorf("values of halves are %v, %v", v, err)
	}
	if d := c.As([]int{1, 2}); !slices.Equal(d.Dims, []int{1, 2}) || !slices.Equal(c.Dims, []int{2}) {
		t.Errorf("a constant seen in another shape is %v, and it is %v", d.Dims, c.Dims)
	}
}

// TestAbsentConst holds that values in a file that was not read are nothing, without an error,
// and that a fault of a file that was is one.
func TestAbsentConst(t *testing.T) {
	c := &Const{Dims: []int{2}, Type: Float, Source: stored{outside: true, v: []float64{1, 2}}}
	h, err := c.Halves()
	kept, keptErr := c.Detach()
	if !c.Absent() || h != nil || err != nil || kept != c || keptErr != nil {
		t.Errorf("absent: %t, halves %v, %v; kept %v, %v", c.Absent(), h, err, kept, keptErr)
	}
	if _, err := (&Const{Dims: []int{}, Source: c.Source}).Scalar(); err == nil {
		t.Error("an absent value is one")
	}
	short := &Const{Dims: []int{1}, Type: Float, Source: stored{}}
	if _, err := short.Values(); !errors.Is(err, errUnread) {
		t.Errorf("values of a short file: %v", err)
	}
	if _, err := short.Halves(); !errors.Is(err, errUnread) {
		t.Errorf("halves of a short file: %v", err)
	}
	if _, err := short.Detach(); !errors.Is(err, errUnread) {
		t.Errorf("keeping a short file's: %v", err)
	}
	if _, err := short.Scalar(); !errors.Is(err, errUnread) {
		t.Errorf("the value of a short file: %v", err)
	}
}

// TestKept holds that what is kept once the file is closed is in memory: whole numbers as they
// are, since fp16 has not all of them, and those with a fraction in fp16.
func TestKept(t *testing.T) {
	whole, err := (&Const{Dims: []int{1}, Type: Int64, Source: stored{v: []float64{100001}}}).Detach()
	if err != nil || whole.Source != nil || whole.Numbers[0] != 100001 {
		t.Errorf("a whole number is kept as %+v, %v", whole, err)
	}
	third, err := (&Const{Dims: []int{1}, Type: Float, Source: stored{v: []float64{1. / 3}}}).Detach()
	if err != nil || third.Source != nil || !slices.Equal(third.Half, newHalves(1./3)) {
		t.Errorf("a third is kept as %+v, %v", third, err)
	}
}

// TestIntegersOfConst holds that places and sizes are whole numbers, clamped to where sums of a few
// are exact, and that numbers with a fraction are no places.
func TestIntegersOfConst(t *testing.T) {
	v, err := (&Const{Dims: []int{3}, Type: Int64, Numbers: []float64{-3, 1e18, -1e18}}).Ints()
	if err != nil || !slices.Equal(v, []int{-3, 1 << 40, -1 << 40}) {
		t.Errorf("places are %v, %v", v, err)
	}
	if _, err := (&Const{Dims: []int{1}, Type: Float, Numbers: []float64{1}}).Ints(); err == nil || !strings.Contains(err.Error(), "float32") {
		t.Errorf("places of floats: %v", err)
	}
	if v, err := (&Const{Dims: []int{1, 1}, Numbers: []float64{7}}).Scalar(); v != 7 || err != nil {
		t.Errorf("the only element is %g, %v", v, err)
	}
	if _, err := (&Const{Dims: []int{2}, Numbers: []float64{7, 8}}).Scalar(); err == nil {
		t.Error("two elements are one")
	}
}

// TestScaled holds that the scales of bytes are kept in fp16, as the engine has them.
func TestScaled(t *testing.T) {
	p := Scaled([]float64{0.5, 1. / 3})
	if p.Form != Bytes || !slices.Equal(p.Scale, newHalves(0.5, 1./3)) {
		t.Errorf("bytes with scales are %+v", p)
	}
}

// TestBudget holds that what is too much takes nothing, whatever the product of the counts is.
func TestBudget(t *testing.T) {
	b := &Budget{Bytes: 100}
	if err := b.Spend(2, 5, 4); err != nil || b.Bytes != 60 {
		t.Errorf("%d bytes are left: %v", b.Bytes, err)
	}
	for _, counts := range [][]int{{31}, {1 << 62, 1 << 62}, {1 << 32, 1 << 32}} {
		if err := b.Spend(2, counts...); !errors.Is(err, ErrBudget) || b.Bytes != 60 {
			t.Errorf("2 times %v leaves %d bytes: %v", counts, b.Bytes, err)
		}
	}
	if err := b.Spend(-1); !errors.Is(err, ErrBudget) {
		t.Errorf("less than nothing: %v", err)
	}
	if err := b.Spend(8, 0); err != nil || b.Bytes != 60 {
		t.Errorf("nothing of 8 bytes leaves %d: %v", b.Bytes, err)
	}
}

// RoundToHalf rounds every number as package float16 does: all results, and the numbers around each limit
// between two of them.
func TestRoundToHalf(t *testing.T) {
	check := func(bits uint32) {
		if got, want := RoundToHalf(bits), float16.Fromfloat32(math.Float32frombits(bits)); got != want && !want.IsNaN() {
			t.Fatalf("%#x becomes %#x; want %#x", bits, got, want)
		}
	}
	for h := range uint32(1 << 16) {
		exact := math.Float32bits(float16.Frombits(uint16(h)).Float32())
		for _, d := range []uint32{0, 1, 0xfff, 0x1000, 0x1001, 0x1fff} {
			check(exact + d)
			check(exact - d)
		}
	}
	for exponent := range uint32(512) { // with the sign
		for _, fraction := range []uint32{0, 1, 0x3ff, 0xfff, 0x1000, 0x1001, 0x3fffff, 0x400000, 0x7fefff, 0x7ff000, 0x7fffff} {
			check(exponent<<23 | fraction)
		}
	}
}
