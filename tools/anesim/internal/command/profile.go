package command

import (
	"context"
	"io"

	"anesim"
	"anesim/bench/report"
	"anesim/tools/anesim/internal/outfile"
)

// profilesHelp says what --pprof and --trace write.
const profilesHelp = `--pprof writes where cycles, time, energy and bytes went, by layer, descriptor and cause,
for go tool pprof; --trace the run on the wall clock, for ui.perfetto.dev.`

// writeProfiles writes the profile and the trace that the flags ask for. File is where the
// model was read from, "" for nowhere.
func (f *runFlags) writeProfiles(ctx context.Context, res *anesim.Result, file string) error {
	if err := outfile.WriteTo(f.Pprof, func(w io.Writer) error { return report.WriteProfile(w, res, file) }); err != nil {
		return err
	}
	return outfile.WriteTo(f.Trace, func(w io.Writer) error { return report.WriteTrace(&stoppable{ctx, w}, res) })
}

// A stoppable writer fails once its context is done: a trace may take long.
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
