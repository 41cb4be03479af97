package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"anesim"
	"anesim/bench/report"
	"anesim/firmware"
	"anesim/hw"
	"anesim/hw/chip"
	"anesim/hw/spelling"
	"anesim/loader/network/keys"
)

// A workload is what a point of a sweep runs: an operation whose keys are axes, or a model
// that stands.
type workload struct {
	name  string
	model *anesim.Model // nil of an operation
}

// A sweep is a grid over workloads and their keys, constants of the chip and registers.
type sweep struct {
	workloads []workload // several change fastest
	name      string     // of all, for people
	keys      int        // axes that are keys of the layer or the chip; the rest are register fields
	grid      grid
	area      *expression // nil where none is given
	options   anesim.Options
}

// maxWorkloads bounds the programs of a sweep, which are all in memory.
const maxWorkloads = 1 << 10

// newSweep reads the command line: workloads, then axes of keys and of registers.
func newSweep(args, fields []string, area string, o anesim.Options) (*sweep, error) {
	if len(args) == 0 {
		return nil, usage("missing operation or file: operations are %s", strings.Join(keys.Names(), " "))
	}
	o.Workers = 1
	s := &sweep{options: o}
	words := 1 + slices.IndexFunc(args[1:], isAxis)
	if words == 0 {
		words = len(args)
	}
	if words > maxWorkloads {
		return nil, usage("%d programs; a sweep takes at most %d", words, maxWorkloads)
	}
	for _, word := range args[:words] {
		w, err := readWorkload(word, words > 1)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(s.workloads, func(v workload) bool { return v.name == w.name }) {
			return nil, usage("%s is given twice", w.name)
		}
		s.workloads = append(s.workloads, w)
	}
	s.name = s.workloads[0].name
	if words > 1 {
		s.name = fmt.Sprintf("%d programs", words)
	}
	var err error
	if area != "" {
		if s.area, err = parseExpression(area); err != nil {
			return nil, usage("--area: %v", err)
		}
	}
	return s, s.axes(args[words:], fields)
}

// isAxis reports whether a word gives a key values.
func isAxis(word string) bool { return strings.Contains(word, "=") && !strings.Contains(word, " ") }

// axes reads the keys and registers that vary.
func (s *sweep) axes(keys, fields []string) error {
	for i, word := range slices.Concat(keys, fields) {
		if i < len(keys) && s.workloads[0].model != nil && !strings.HasPrefix(word, chipKey) {
			switch m := s.workloads[0].model; {
			case !isAxis(word):
				return usage("%q stands behind keys; programs come first", word)
			case len(s.workloads) > 1:
				return usage("%s: several programs have no keys in common but those of the chip; the keys of a layer stand in quotes with its operation", word)
			case m.Kind() == anesim.KindLayer:
				return usage("%s: the layer's keys stand with its operation", word)
			default:
				return usage("%s: a %v has no keys; --set gives register values", word, m.Kind())
			}
		}
		a, err := parseAxis(word)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(s.grid, func(b axis) bool { return a.name == b.name }) {
			return usage("%s is given twice", a.name)
		}
		if i < len(keys) {
			s.keys++
		}
		s.grid = append(s.grid, a)
	}
	return nil
}

// readWorkload reads a word: an operation, one with its keys in quotes, or a file.
func readWorkload(word string, several bool) (workload, error) {
	if slices.Contains(keys.Names(), word) {
		if several {
			return workload{}, usage("%s stands beside other programs: its keys go with it, as in '%[1]s c=64 h=56 w=56'", word)
		}
		return workload{name: word}, nil
	}
	if op, rest, ok := strings.Cut(word, " "); ok && slices.Contains(keys.Names(), op) {
		m, err := anesim.Layer(op, strings.Fields(rest)...)
		if err != nil {
			return workload{}, inLayer(word, err)
		}
		return workload{word, m}, nil
	}
	m, err := sweepFile(word)
	return workload{word, m}, err
}

// inLayer says which of the command line's layers is wrong.
func inLayer(word string, err error) error {
	err = fmt.Errorf("%q: %w", word, err)
	if errors.As(err, new(*anesim.LayerError)) {
		return &usageError{err}
	}
	return err
}

// sweepFile opens the model that a word names, or says that it names nothing.
func sweepFile(name string) (*anesim.Model, error) {
	if name == "-" {
		return nil, usage("sweep reads no program from standard input")
	}
	m, err := openModel(name, nil)
	if errors.As(err, new(*missingError)) && !strings.ContainsAny(name, "./") {
		names := keys.Names()
		return nil, usage("%q is no file and no operation; operations are %s%s", name, strings.Join(names, " "), spelling.Suggest(name, names))
	}
	return m, err
}

// try looks at the first point, so that mistakes in keys and fields end the command.
func (s *sweep) try() error {
	t, err := s.timer()
	if err != nil {
		return err
	}
	values := s.grid.at(0)
	if err := t.set(values); err != nil {
		return &usageError{err}
	}
	if s.workloads[0].model == nil {
		_, err = s.layer(values)
	}
	if errors.As(err, new(*anesim.LayerError)) {
		return &usageError{err}
	}
	return nil
}

// layer is the operation with a point's keys.
func (s *sweep) layer(values []string) (*anesim.Model, error) {
	keys := make([]string, 0, s.keys)
	for i := range s.keys {
		if name := s.grid[i].name; !strings.HasPrefix(name, chipKey) {
			keys = append(keys, name+"="+values[i])
		}
	}
	return anesim.Layer(s.workloads[0].name, keys...)
}

// points is how many the sweep has.
func (s *sweep) points() (int, error) {
	n, err := s.grid.points()
	if n > maxPoints/len(s.workloads) {
		return 0, usage("more than %d points", maxPoints)
	}
	return n * len(s.workloads), err
}

// at is the program and the values of a point.
func (s *sweep) at(point int) (*workload, []string) {
	n := len(s.workloads)
	return &s.workloads[point%n], s.grid.at(point / n)
}

// resultColumns are the columns behind those that say which point a row is.
var resultColumns = [...]string{
	"descriptors", "cycles", "bound", "dma_bytes", "time_ns", "energy_nj", "dispatch_energy_nj", "macs", "tflops", "time_ns_low", "time_ns_high", "error",
}

// areaColumn is the name of the column ahead of the results where an area is given.
const areaColumn = "area"

func (s *sweep) header() []string {
	row := []string{"point", "program"}
	for _, a := range s.grid {
		row = append(row, a.name)
	}
	if s.area != nil {
		row = append(row, areaColumn)
	}
	return append(row, resultColumns[:]...)
}

// label is the columns of a row that say which point it is.
func (s *sweep) label(point int) []string {
	w, values := s.at(point)
	row := make([]string, 2, 3+len(s.grid)+len(resultColumns))
	row[0], row[1] = strconv.Itoa(point), escaped(w.name)
	return append(row, values...)
}

// A pointTimer times points of a sweep one after the other.
type pointTimer struct {
	*sweep
	engine  *anesim.Timer
	varied  bool           // some axis is a constant of the chip
	options anesim.Options // of the point
}

func (s *sweep) timer() (*pointTimer, error) {
	t, err := anesim.NewTimer(s.options)
	if err != nil {
		return nil, err
	}
	varied := slices.ContainsFunc(s.grid, func(a axis) bool { return strings.HasPrefix(a.name, chipKey) })
	return &pointTimer{s, t, varied, s.options}, nil
}

// set gives the engine the point's constants and register values.
func (t *pointTimer) set(values []string) error {
	c, overrides, err := t.settings(values)
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

// settings are the chip and the register values of a point.
func (s *sweep) settings(values []string) (c hw.Chip, overrides []firmware.Override, err error) {
	c = s.options.Chip
	for i := range s.keys {
		name, ok := strings.CutPrefix(s.grid[i].name, chipKey)
		if !ok {
			continue
		}
		v, err := strconv.ParseFloat(values[i], 64)
		if err != nil {
			return c, nil, fmt.Errorf("%s=%s: not a number", s.grid[i].name, values[i])
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

// row times a point.
func (t *pointTimer) row(point int) []string {
	row := t.label(point)
	w, values := t.at(point)
	results := len(resultColumns)
	refused := func(err error) []string {
		if t.area != nil && len(row) == 2+len(t.grid) {
			row = append(row, "")
		}
		row = append(row, make([]string, results-1)...)
		return append(row, escaped(err.Error()))
	}
	if err := t.set(values); err != nil {
		return refused(err)
	}
	if t.area != nil {
		row = append(row, number(t.area.value(&t.options.Chip)))
	}
	r, problem, err := t.time(w, values)
	if err != nil {
		return refused(err)
	}
	a := r.Accounting()
	low, high := r.Interval()
	return append(row, strconv.Itoa(len(r.Descriptors)), strconv.FormatUint(uint64(r.Cycles), 10), a.Bound(),
		strconv.FormatUint(r.DMA.Total(), 10), number(r.Time), number(r.Energy), number(r.Dispatch),
		strconv.FormatUint(r.MACs, 10), number(report.RatesOf(r).TFLOPS), number(low), number(high), escaped(problem))
}

// time is the account of a workload, and why it is not that of the whole.
func (t *pointTimer) time(w *workload, values []string) (r *hw.Report, problem string, err error) {
	m := w.model
	if m == nil {
		if m, err = t.layer(values); err != nil {
			return nil, "", err
		}
	}
	if m.Kind() == anesim.KindNetwork {
		res, err := m.Run(context.Background(), t.options)
		if err != nil {
			return nil, "", err
		}
		return res.Report, incomplete(res), nil
	}
	if r, err = t.engine.Time(context.Background(), m); err != nil {
		return nil, "", err
	}
	if len(r.Faults) > 0 {
		problem = "device fault: " + r.Faults[0].String()
	}
	return r, problem, nil
}

// incomplete says what of a network is in no total.
func incomplete(res *anesim.Result) string {
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
	return fmt.Sprintf("%d of %s not modelled, %s", n, plural(len(res.Layers), "layer"), why)
}

// shared are the options that all points of a sweep have.
func (f *sweepFlags) shared() (anesim.Options, error) {
	g := f.runFlags
	g.set, g.timingOnly = nil, true
	return g.options()
}

// files are those that the workloads were read from.
func (s *sweep) files() (names []string) {
	for i := range s.workloads {
		if _, err := os.Stat(s.workloads[i].name); err == nil && s.workloads[i].model != nil {
			names = append(names, s.workloads[i].name)
		}
	}
	return names
}
