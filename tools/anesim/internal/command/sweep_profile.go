package command

import (
	"context"
	"fmt"
	"io"
	"strings"

	"anesim"
	"anesim/bench/report"
)

// maxProfiled bounds the points of a profile or a trace: their results are all kept.
const maxProfiled = 1000

// profilePoints writes the profile and the trace of a sweep's points, one behind the other.
func (f *sweepFlags) profilePoints(s *sweep, part shard) error {
	if f.pprof == "" && f.trace == "" {
		return nil
	}
	ctx, stop := interruptible()
	defer stop()
	total, err := s.points()
	if err != nil {
		return err
	}
	var parts []report.ProfilePart
	for k := range part.points(total) {
		p, err := s.run(ctx, part.point(k))
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			continue // its row says why
		}
		parts = append(parts, p)
	}
	if err := writeTo(f.pprof, func(w io.Writer) error {
		return report.WriteProfiles(w, "sweep "+s.name, strings.Join(s.files(), " "), parts, 0)
	}); err != nil {
		return err
	}
	return writeTo(f.trace, func(w io.Writer) error {
		return report.WriteTraces(w, "sweep "+s.name, func(yield func(string, *anesim.Result) bool) {
			for i := range parts {
				if !yield(parts[i].Name, parts[i].Result) {
					return
				}
			}
		})
	})
}

// run runs a point and names it by what is particular about it.
func (s *sweep) run(ctx context.Context, point int) (report.ProfilePart, error) {
	w, values := s.at(point)
	m, err := w.model, error(nil)
	if m == nil {
		if m, err = s.layer(values); err != nil {
			return report.ProfilePart{}, err
		}
	}
	o := s.options
	o.Repeat = 1 // as of the rows
	if o.Chip, o.Overrides, err = s.settings(values); err != nil {
		return report.ProfilePart{}, err
	}
	name := []string{fmt.Sprintf("point %d:", point)}
	if len(s.workloads) > 1 {
		name = append(name, w.name)
	}
	for i, a := range s.grid {
		if len(a.values) > 1 {
			name = append(name, a.name+"="+values[i])
		}
	}
	res, err := m.Run(ctx, o)
	if err != nil {
		return report.ProfilePart{}, err
	}
	return report.ProfilePart{Name: strings.TrimSuffix(strings.Join(name, " "), ":"), Result: res, Times: 1}, nil
}
