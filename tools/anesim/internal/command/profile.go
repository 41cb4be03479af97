package command

import (
	"context"
	"io"

	"anesim"
	"anesim/internal/outfile"
	"anesim/internal/report"
	"anesim/internal/report/trace"
)

// profilesHelp is the help text of --pprof and --trace.
const profilesHelp = `--pprof writes a profile of cycles, time, energy and bytes by layer, descriptor and cause,
for go tool pprof. --trace writes a trace over wall time, for ui.perfetto.dev.`

// writeProfiles writes the profile and the trace that the flags name, if any. The argument file is
// the name of the model's file, or "".
func (f *runFlags) writeProfiles(ctx context.Context, res *anesim.Result, file string) error {
	if err := outfile.WriteTo(f.Pprof, func(w io.Writer) error { return report.WriteProfile(w, res, file) }); err != nil {
		return err
	}
	return outfile.WriteTo(f.Trace, func(w io.Writer) error { return trace.Write(&stoppable{ctx, w}, res) })
}

// A stoppable writer returns an error once its context is cancelled, since writing a trace can
// take long.
type stoppable struct {
	ctx context.Context
	w   io.Writer
}

func (s *stoppable) Write(b []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.w.Write(b)
}
