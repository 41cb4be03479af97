package params

import (
	"fmt"
	"strconv"

	"anesim/loader"
)

// kinds maps the first word of a line to the kind of its relocation.
var kinds = [...]struct {
	word string
	kind loader.RelocKind
}{{"live-in", loader.LiveIn}, {"address", loader.DeviceAddress}, {"data-set", loader.DataSet}, {"offset", loader.BufferOffset}}

// Append appends the text form of s to b and returns the extended buffer. [Parse] reads this form.
func (s *Set) Append(b []byte) []byte {
	for _, p := range s.Parameters {
		b = fmt.Appendf(b, "param %s %d %d %d %d\n", p.Name, p.Value, p.Range.Start, p.Range.Stop, p.Range.Step)
	}
	for i := range s.Relocations {
		r := &s.Relocations[i]
		for _, k := range kinds {
			if k.kind == r.Kind {
				b = fmt.Appendf(b, "%s %d %s %s", k.word, r.Task, r.Field(), formatValue(r))
			}
		}
		if r.Shift > 0 {
			b = fmt.Appendf(b, " >>%d", r.Shift)
		}
		b = append(b, '\n')
	}
	// Neighboring axes of one port share a line, in which "-" holds the place of an axis that does not
	// change.
	for i := 0; i < len(s.Axes); i++ {
		a := s.Axes[i]
		what := "shape"
		if a.Stride {
			what = "strides"
		}
		b = fmt.Appendf(b, "%s %v %s", what, a.Direction, strconv.Quote(a.Port))
		for axis := range 4 {
			if i < len(s.Axes) && onSameTextLine(&s.Axes[i], &a) && s.Axes[i].Axis == axis {
				b = append(b, ' ')
				b = append(b, formatLinearTerm(s.Axes[i].Name, s.Axes[i].Scale, s.Axes[i].Plus)...)
				i++
			} else {
				b = append(b, " -"...)
			}
		}
		i--
		b = append(b, '\n')
	}
	return b
}

func formatValue(r *loader.Relocation) string {
	switch r.Kind {
	case loader.LiveIn:
		return formatLinearTerm(r.Name, r.Scale, r.Plus)
	case loader.DeviceAddress:
		return fmt.Sprintf("b%d+%#x", r.Target, r.Value)
	}
	return fmt.Sprintf("%#x", r.Value)
}

func formatLinearTerm(name string, scale, plus int64) string {
	s := name
	if scale != 0 && scale != 1 {
		s = fmt.Sprintf("%d*%s", scale, name)
	}
	if plus != 0 {
		s += fmt.Sprintf("%+d", plus)
	}
	return s
}

// onSameTextLine reports whether the sizes or strides a and b share a line of the text form: they do
// if both are sizes or both strides, and belong to the same port.
func onSameTextLine(a, b *loader.LiveAxis) bool {
	return a.Port == b.Port && a.Direction == b.Direction && a.Stride == b.Stride
}
