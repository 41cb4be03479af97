package planar

import (
	"errors"
	"testing"
)

func TestFromFieldsRefuses(t *testing.T) {
	for _, c := range []struct {
		why    string
		form   Form
		change func(*Fields)
	}{
		{"no form", FormNone, func(*Fields) {}},
		{"no such form", 1, func(*Fields) {}},
		{"no such form", 7, func(f *Fields) { f.Second = 2 }},
		{"absolute value of two sources", FormTwo, func(f *Fields) { f.Second, f.Absolute = 2, true }},
		{"absolute value with a factor", FormOne, func(f *Fields) { f.Absolute, f.Scale = true, 0x4000 }},
		{"maximum of two sources", FormTwo, func(f *Fields) { f.Second, f.Maximum = 2, true }},
		{"maximum twice", FormReduce, func(f *Fields) { f.Maximum, f.Op = true, Max }},
		{"two functions", FormReduce, func(f *Fields) { f.Reciprocal, f.Rsqrt = true, true }},
		{"OpMode 5", FormTwo, func(f *Fields) { f.Second, f.Op = 2, 5 }},
		{"no second source", FormTwo, func(*Fields) {}},
		{"SecSrc 1", FormTwo, func(f *Fields) { f.Second = 1 }},
		{"one source too many", FormOne, func(f *Fields) { f.Second = 2 }},
		{"product with a constant", FormOne, func(f *Fields) { f.Op = Mul }},
		{"reduction by multiplication", FormReduce, func(f *Fields) { f.Op = Mul }},
		{"product with bias and scale", FormChannel, func(f *Fields) { f.Second, f.Op = 2, Mul }},
	} {
		f := neutral
		c.change(&f)
		_, err := FromFields(c.form, f)
		var unknown *FieldError
		if !errors.As(err, &unknown) {
			t.Errorf("%s, form %d: %v", c.why, c.form, err)
		}
	}
}
