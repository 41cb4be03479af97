package sweepcommand

import (
	"io"
	"strings"

	"anesim"
	"anesim/internal/outfile"
	"anesim/internal/report"
	"anesim/internal/report/trace"
	"anesim/internal/sweep"
	"anesim/tools/anesim/internal/interrupt"
)

// maxProfiled is the most points of a profile or a trace, whose results are all kept in memory.
const maxProfiled = 1000

// writePointProfiles runs the points of a shard again and writes their profile and trace, in which
// the points follow each other.
func (f *sweepFlags) writePointProfiles(s *sweep.Sweep, part sweep.Shard) error {
	if f.Pprof == "" && f.Trace == "" {
		return nil
	}
	ctx, stop := interrupt.Context()
	defer stop()
	total, err := s.Points()
	if err != nil {
		return err
	}
	var parts []report.ProfilePart
	for k := range part.Points(total) {
		p, err := s.RunPoint(ctx, part.Point(k))
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			continue // its row has the reason
		}
		parts = append(parts, p)
	}
	if err := outfile.WriteTo(f.Pprof, func(w io.Writer) error {
		return report.WriteProfiles(w, "sweep "+s.Name, strings.Join(s.Files(), " "), parts, 0)
	}); err != nil {
		return err
	}
	return outfile.WriteTo(f.Trace, func(w io.Writer) error {
		return trace.WriteAll(w, "sweep "+s.Name, func(yield func(string, *anesim.Result) bool) {
			for i := range parts {
				if !yield(parts[i].Name, parts[i].Result) {
					return
				}
			}
		})
	})
}
