package sweep

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"anesim"
	"anesim/loader/network/keys"
)

// A workload is what a point of a sweep runs: an operation whose keys are axes, or a model
// that stands.
type workload struct {
	name  string
	model *anesim.Model // nil of an operation
}

// A Sweep is a grid over workloads and their keys, constants of the chip and registers.
type Sweep struct {
	workloads []workload // several change fastest
	Name      string     // of all, for people
	keys      int        // axes that are keys of the layer or the chip; the rest are register fields
	grid      grid
	area      *expression // nil where none is given
	areaText  string
	Origin    string // the last column of every row
	Options   anesim.Options
}

// MaxPrograms bounds the programs of a sweep, which are all in memory.
const MaxPrograms = 1 << 10

// A Description is what a sweep is made of.
type Description struct {
	Words   []string // programs, then the axes of keys, KEY=VALUES
	Fields  []string // axes of register fields, GROUP.REGISTER.FIELD=VALUES
	Area    string   // a sum of products of the chip's constants, "" for none
	Options anesim.Options

	Open func(name string) (*anesim.Model, error) // a word that is no operation
}

// New reads a description.
func New(d *Description) (*Sweep, error) {
	args, o := d.Words, d.Options
	if len(args) == 0 {
		return nil, wrong("missing operation or file: operations are %s", strings.Join(keys.Names(), " "))
	}
	o.Workers = 1
	s := &Sweep{Options: o}
	words := 1 + slices.IndexFunc(args[1:], isAxis)
	if words == 0 {
		words = len(args)
	}
	if words > MaxPrograms {
		return nil, wrong("%d programs; a sweep takes at most %d", words, MaxPrograms)
	}
	for _, word := range args[:words] {
		w, err := d.workload(word, words > 1)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(s.workloads, func(v workload) bool { return v.name == w.name }) {
			return nil, wrong("%s is given twice", w.name)
		}
		s.workloads = append(s.workloads, w)
	}
	s.Name = s.workloads[0].name
	if words > 1 {
		s.Name = fmt.Sprintf("%d programs", words)
	}
	var err error
	if d.Area != "" {
		if s.area, err = parseExpression(d.Area); err != nil {
			return nil, wrong("--area: %v", err)
		}
		s.areaText = strings.Join(strings.Fields(d.Area), "")
	}
	if err := s.axes(args[words:], d.Fields); err != nil {
		return nil, err
	}
	s.Origin, err = s.origin()
	return s, err
}

// isAxis reports whether a word gives a key values.
func isAxis(word string) bool { return strings.Contains(word, "=") && !strings.Contains(word, " ") }

// axes reads the keys and registers that vary.
func (s *Sweep) axes(keys, fields []string) error {
	for i, word := range slices.Concat(keys, fields) {
		if i < len(keys) && s.workloads[0].model != nil && !strings.HasPrefix(word, ChipPrefix) {
			switch m := s.workloads[0].model; {
			case !isAxis(word):
				return wrong("%q stands behind keys; programs come first", word)
			case len(s.workloads) > 1:
				return wrong("%s: several programs have no keys in common but those of the chip; the keys of a layer stand in quotes with its operation", word)
			case m.Kind() == anesim.KindLayer:
				return wrong("%s: the layer's keys stand with its operation", word)
			default:
				return wrong("%s: a %v has no keys; --set gives register values", word, m.Kind())
			}
		}
		a, err := parseAxis(word)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(s.grid, func(b axis) bool { return a.name == b.name }) {
			return wrong("%s is given twice", a.name)
		}
		if i < len(keys) {
			s.keys++
		}
		s.grid = append(s.grid, a)
	}
	return nil
}

// workload reads a word: an operation, one with its keys in quotes, or a file.
func (d *Description) workload(word string, several bool) (workload, error) {
	if slices.Contains(keys.Names(), word) {
		if several {
			return workload{}, wrong("%s stands beside other programs: its keys go with it, as in '%[1]s c=64 h=56 w=56'", word)
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
	m, err := d.Open(word)
	return workload{word, m}, err
}

// inLayer says which of the command line's layers is wrong.
func inLayer(word string, err error) error {
	err = fmt.Errorf("%q: %w", word, err)
	if errors.As(err, new(*anesim.LayerError)) {
		return &ArgumentError{err}
	}
	return err
}

// Try looks at the first point, so that mistakes in keys and fields end the command.
func (s *Sweep) Try() error {
	t, err := s.timer()
	if err != nil {
		return err
	}
	values := s.grid.at(0)
	if err := t.set(values); err != nil {
		return &ArgumentError{err}
	}
	if s.workloads[0].model == nil {
		_, err = s.layer(values)
	}
	if errors.As(err, new(*anesim.LayerError)) {
		return &ArgumentError{err}
	}
	return nil
}

// layer is the operation with a point's keys.
func (s *Sweep) layer(values []string) (*anesim.Model, error) {
	keys := make([]string, 0, s.keys)
	for i := range s.keys {
		if name := s.grid[i].name; !strings.HasPrefix(name, ChipPrefix) {
			keys = append(keys, name+"="+values[i])
		}
	}
	return anesim.Layer(s.workloads[0].name, keys...)
}

// Points is how many the sweep has.
func (s *Sweep) Points() (int, error) {
	n, err := s.grid.points()
	if n > MaxPoints/len(s.workloads) {
		return 0, wrong("more than %d points", MaxPoints)
	}
	return n * len(s.workloads), err
}

// at is the program and the values of a point.
func (s *Sweep) at(point int) (*workload, []string) {
	n := len(s.workloads)
	return &s.workloads[point%n], s.grid.at(point / n)
}

// Files are those that the workloads were read from.
func (s *Sweep) Files() (names []string) {
	for i := range s.workloads {
		if _, err := os.Stat(s.workloads[i].name); err == nil && s.workloads[i].model != nil {
			names = append(names, s.workloads[i].name)
		}
	}
	return names
}

// Programs is how many programs the sweep has.
func (s *Sweep) Programs() int { return len(s.workloads) }
