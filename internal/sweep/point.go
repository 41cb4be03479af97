package sweep

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"anesim"
	"anesim/firmware"
	"anesim/hw"
	"anesim/hw/chip"
	"anesim/internal/report"
)

// newTimer returns a timer for the points of s, which times one point at a time.
func (s *Sweep) newTimer() (*timer, error) {
	t, err := anesim.NewTimer(s.Options)
	if err != nil {
		return nil, err
	}
	varied := slices.ContainsFunc(s.grid, func(a axis) bool { return strings.HasPrefix(a.name, chipPrefix) })
	return &timer{s, t, varied, s.Options, len(s.Header())}, nil
}

// parsePointSettings returns the chip and the register overrides at the point where the axes have
// the given values.
func (s *Sweep) parsePointSettings(values []string) (c hw.Chip, overrides []firmware.Override, err error) {
	c = s.Options.Chip
	for i := range s.keys {
		name, ok := strings.CutPrefix(s.grid[i].name, chipPrefix)
		if !ok {
			continue
		}
		v, err := strconv.ParseFloat(values[i], 64)
		if err != nil {
			return c, nil, fmt.Errorf("%s has value %q; want a number", s.grid[i].name, values[i])
		}
		if err := chip.Set(&c, name, v); err != nil {
			return c, nil, err
		}
	}
	for i := s.keys; i < len(s.grid); i++ {
		v, err := firmware.ParseOverride(s.grid[i].name + "=" + values[i])
		if err != nil {
			return c, nil, err
		}
		overrides = append(overrides, v)
	}
	return c, overrides, nil
}

// describeMissing returns the reason why the totals of a network are incomplete, which is the first
// layer that faults or the number of layers that are not modelled. It returns "" if the totals are
// complete.
func describeMissing(res *anesim.Result) string {
	n, why := 0, ""
	for i := range res.Layers {
		l := &res.Layers[i]
		switch {
		case l.Fault != nil:
			return fmt.Sprintf("layer %s: device fault: %v", l.Layer.Name, *l.Fault)
		case !l.Modelled() && n == 0:
			why = fmt.Sprintf("%s: %s", l.Layer.Name, l.Reason)
			fallthrough
		case !l.Modelled():
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %s not modelled, %s", n, report.Plural(len(res.Layers), "layer"), why)
}

// RunPoint runs a point and returns its whole result, of which a row has only the sums. The name of
// the result is the point's number, its program if the sweep has several, and the value of each
// axis with more than one value.
func (s *Sweep) RunPoint(ctx context.Context, point int) (report.ProfilePart, error) {
	w, values := s.findPointProgram(point)
	m, err := w.model, error(nil)
	if m == nil {
		if m, err = s.newLayerModel(values); err != nil {
			return report.ProfilePart{}, err
		}
	}
	o := s.Options
	o.Repeat = 1 // as for the rows
	if o.Chip, o.Overrides, err = s.parsePointSettings(values); err != nil {
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

// Time runs points first through n-1 of the shard part on the given number of concurrent workers,
// and calls write with their rows in order. While no row is ready, Time calls wait every 100 ms, so
// that the caller can flush the rows written so far. It calls write and wait on the caller's
// goroutine, and returns the first error of either. If a point cannot be timed, its row says why,
// and Time continues.
func (s *Sweep) Time(part Shard, first, n, workers int, write func(row []string) error, wait func() error) error {
	timers := make([]*timer, min(workers, max(1, n-first)))
	for i := range timers {
		var err error
		if timers[i], err = s.newTimer(); err != nil {
			return err
		}
	}
	return computeInOrder(first, n, len(timers), func(worker, k int) []string { return timers[worker].timeRow(part.Point(k)) }, write, wait)
}

// A timer times points of a sweep one at a time.
type timer struct {
	*Sweep
	engine  *anesim.Timer
	varied  bool           // an axis is a constant of the chip
	options anesim.Options // of the current point
	columns int            // of a row
}

// setAxisValues sets the chip's constants and the register overrides of the timer to the values of
// the axes at a point.
func (t *timer) setAxisValues(values []string) error {
	c, overrides, err := t.parsePointSettings(values)
	if err != nil {
		return err
	}
	if t.varied {
		if err := t.engine.Chip(c); err != nil {
			return err
		}
		t.options.Chip = c
	}
	if t.keys < len(t.grid) {
		t.engine.Override(overrides)
		t.options.Overrides = overrides
	}
	return nil
}

// timeWorkload times the program w, with the given values of the axes, and returns its result. If
// the costs are incomplete, problem is the reason; otherwise it is "".
func (t *timer) timeWorkload(w *workload, values []string) (res *anesim.Result, problem string, err error) {
	m := w.model
	if m == nil {
		if m, err = t.newLayerModel(values); err != nil {
			return nil, "", err
		}
	}
	if m.Kind() == anesim.KindNetwork {
		if res, err = m.Run(context.Background(), t.options); err != nil {
			return nil, "", err
		}
		return res, describeMissing(res), nil
	}
	if res, err = t.engine.Call(context.Background(), m); err != nil {
		return nil, "", err
	}
	if faults := res.Report.Faults; len(faults) > 0 {
		problem = "device fault: " + faults[0].String()
	}
	return res, problem, nil
}

// idlePeriod is the time between calls of idle while computeInOrder waits for a row.
const idlePeriod = 100 * time.Millisecond

// computeInOrder calls compute for the items first to n-1 on several goroutines, and passes the
// returned rows to write in the order of the items. The argument worker of compute is the number of
// the goroutine, from 0 to workers-1. While no row is ready, computeInOrder calls wait every
// idlePeriod. It calls write and wait on the caller's goroutine, and returns the first error of
// either.
func computeInOrder(first, n, workers int, compute func(worker, i int) []string, write func([]string) error, wait func() error) error {
	type item struct {
		index int
		row   []string
		done  chan struct{}
	}
	work := make(chan *item)
	// The bound keeps finished rows from piling up behind a slow one.
	queue := make(chan *item, 4*workers)
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		defer close(queue)
		defer close(work)
		for i := first; i < n; i++ {
			x := &item{index: i, done: make(chan struct{})}
			// First into the queue, whose order is that of the output, then to a worker.
			for _, c := range [...]chan *item{queue, work} {
				select {
				case c <- x:
				case <-stop:
					return
				}
			}
		}
	}()
	for worker := range workers {
		go func() {
			for x := range work {
				x.row = compute(worker, x.index)
				close(x.done)
			}
		}()
	}
	tick := time.NewTicker(idlePeriod)
	defer tick.Stop()
	for x := range queue {
		for waiting := true; waiting; {
			select {
			case <-x.done:
				waiting = false
			case <-tick.C:
				if err := wait(); err != nil {
					return err
				}
			}
		}
		if err := write(x.row); err != nil {
			return err
		}
	}
	return nil
}
