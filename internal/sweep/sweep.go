package sweep

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"anesim"
	"anesim/internal/network/keys"
)

// A workload is the program of a point: an operation whose keys are axes, or a fixed model.
type workload struct {
	name  string
	model *anesim.Model // nil for an operation
}

// A Sweep is a grid of points to time. A point combines a program with one value for each axis. An
// axis varies a key of a layer, a constant of the chip or a register field.
type Sweep struct {
	workloads []workload // change faster than all axes
	Name      string     // the program, or the number of programs, for messages and titles
	keys      int        // number of axes that are keys of the layer or the chip; the rest are register fields
	grid      grid
	area      *expression // nil if none is given
	areaText  string
	dims      []string // sizes of dimensions, as in Description
	Origin    string   // last column of every row: chip, constants, settings and version
	Options   anesim.Options
}

// MaxPrograms is the largest number of programs that a sweep can have, because it keeps all of them
// in memory.
const MaxPrograms = 1 << 10

// A Description describes a sweep by the arguments of an "anesim sweep" command line.
type Description struct {
	Words   []string // programs, then axes KEY=VALUES over keys of the layer or of the chip
	Fields  []string // axes GROUP.REGISTER.FIELD=VALUES over register fields
	Area    string   // the chip's area as a sum of products of its constants, or ""
	Options anesim.Options

	// Open opens the model in the named file. New calls it for each program that is not an
	// operation.
	Open func(name string) (*anesim.Model, error)
	// Dims lists the sizes that Open gives to dimensions of networks, NAME=SIZE, and how else it reads
	// them, in any form. They are part of the rows' origin.
	Dims []string
}

// New returns the sweep that d describes. If the description has a mistake, it returns an
// *[ArgumentError]. Other errors come from d.Open.
func New(d *Description) (*Sweep, error) {
	args, o := d.Words, d.Options
	if len(args) == 0 {
		return nil, argumentErrorf("missing operation or file; want a file, or one of %s", strings.Join(keys.Names(), " "))
	}
	o.Workers = 1
	s := &Sweep{Options: o, dims: d.Dims}
	// Programs come first, and all words from the first axis on are axes.
	words := 1 + slices.IndexFunc(args[1:], isAxis)
	if words == 0 {
		words = len(args)
	}
	if words > MaxPrograms {
		return nil, argumentErrorf("too many programs: %d; want at most %d", words, MaxPrograms)
	}
	for _, word := range args[:words] {
		w, err := d.openWorkload(word, words > 1)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(s.workloads, func(v workload) bool { return v.name == w.name }) {
			return nil, argumentErrorf("duplicate program %q", w.name)
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
			return nil, argumentErrorf("--area: %v", err)
		}
		s.areaText = strings.Join(strings.Fields(d.Area), "")
	}
	if err := s.parseAxes(args[words:], d.Fields); err != nil {
		return nil, err
	}
	s.Origin, err = s.describeOrigin()
	return s, err
}

// isAxis reports whether a word of the command line describes an axis, that is, has the form
// KEY=VALUES and no spaces.
func isAxis(word string) bool { return strings.Contains(word, "=") && !strings.Contains(word, " ") }

// parseAxes adds an axis to s for each element of keys and of fields, which are register fields.
func (s *Sweep) parseAxes(keys, fields []string) error {
	for i, word := range slices.Concat(keys, fields) {
		if i < len(keys) && s.workloads[0].model != nil && !strings.HasPrefix(word, chipPrefix) {
			switch m := s.workloads[0].model; {
			case !isAxis(word):
				return argumentErrorf("unexpected program %q after keys; want programs before keys", word)
			case len(s.workloads) > 1:
				return argumentErrorf("unexpected key %q with several programs; quote each operation together with its keys", word)
			case m.Kind() == anesim.KindLayer:
				return argumentErrorf("unexpected key %q; quote the operation together with all its keys", word)
			default:
				return argumentErrorf("unexpected key %q for a %v; set register values with --set", word, m.Kind())
			}
		}
		a, err := parseAxis(word)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(s.grid, func(b axis) bool { return a.name == b.name }) {
			return argumentErrorf("duplicate axis %q", a.name)
		}
		if i < len(keys) {
			s.keys++
		}
		s.grid = append(s.grid, a)
	}
	return nil
}

// openWorkload returns the program for a word of the command line. The word is an operation, an
// operation with its keys, or a file. If several is true, the sweep has other programs too, so the
// keys of an operation cannot be axes.
func (d *Description) openWorkload(word string, several bool) (workload, error) {
	if slices.Contains(keys.Names(), word) {
		if several {
			return workload{}, argumentErrorf("missing keys for operation %s; with several programs, quote each operation with its keys, such as '%[1]s c=64 h=56 w=56'", word)
		}
		return workload{name: word}, nil
	}
	if op, rest, ok := strings.Cut(word, " "); ok && slices.Contains(keys.Names(), op) {
		m, err := anesim.Layer(op, strings.Fields(rest)...)
		if err != nil {
			return workload{}, wrapLayerError(word, err)
		}
		return workload{word, m}, nil
	}
	m, err := d.Open(word)
	return workload{word, m}, err
}

// wrapLayerError returns err with the layer's word from the command line as a prefix, as an
// *[ArgumentError] if it was an *[anesim.LayerError].
func wrapLayerError(word string, err error) error {
	err = fmt.Errorf("%q: %w", word, err)
	if errors.As(err, new(*anesim.LayerError)) {
		return &ArgumentError{err}
	}
	return err
}

// CheckFirstPoint checks the values of the first point without timing it. It returns an
// *[ArgumentError] if a key, a constant of the chip or a register field is invalid.
func (s *Sweep) CheckFirstPoint() error {
	t, err := s.newTimer()
	if err != nil {
		return err
	}
	values := s.grid.valuesAt(0)
	if err := t.setAxisValues(values); err != nil {
		return &ArgumentError{err}
	}
	if s.workloads[0].model == nil {
		_, err = s.newLayerModel(values)
	}
	if errors.As(err, new(*anesim.LayerError)) {
		return &ArgumentError{err}
	}
	return nil
}

// newLayerModel returns a model of the sweep's operation in which the keys that are axes have the
// given values.
func (s *Sweep) newLayerModel(values []string) (*anesim.Model, error) {
	keys := make([]string, 0, s.keys)
	for i := range s.keys {
		if name := s.grid[i].name; !strings.HasPrefix(name, chipPrefix) {
			keys = append(keys, name+"="+values[i])
		}
	}
	return anesim.Layer(s.workloads[0].name, keys...)
}

// Points returns the number of points, which is the product of the number of programs and the
// number of values of each axis. It returns an *[ArgumentError] if that exceeds [MaxPoints].
func (s *Sweep) Points() (int, error) {
	n, err := s.grid.countPoints()
	if n > MaxPoints/len(s.workloads) {
		return 0, argumentErrorf("sweep has more than %d points", MaxPoints)
	}
	return n * len(s.workloads), err
}

// findPointProgram returns the program that is timed at the given point, and the values of the axes
// there.
func (s *Sweep) findPointProgram(point int) (*workload, []string) {
	n := len(s.workloads)
	return &s.workloads[point%n], s.grid.valuesAt(point / n)
}

// Row times a point and returns its row.
func (s *Sweep) Row(point int) ([]string, error) {
	t, err := s.newTimer()
	if err != nil {
		return nil, err
	}
	return t.timeRow(point), nil
}

// Files returns the names of the files and directories from which programs were read. It omits
// programs that are given as an operation.
func (s *Sweep) Files() (names []string) {
	for i := range s.workloads {
		if _, err := os.Stat(s.workloads[i].name); err == nil && s.workloads[i].model != nil {
			names = append(names, s.workloads[i].name)
		}
	}
	return names
}

// Programs returns the number of programs of the sweep, which is at least 1.
func (s *Sweep) Programs() int { return len(s.workloads) }

// An ArgumentError reports a mistake in the words that describe a sweep, such as an unknown key.
// Errors in the programs or in files have other types.
type ArgumentError struct{ Err error }

func (e *ArgumentError) Error() string { return e.Err.Error() }
func (e *ArgumentError) Unwrap() error { return e.Err }

// argumentErrorf returns an *[ArgumentError] with a formatted message.
func argumentErrorf(format string, args ...any) error {
	return &ArgumentError{fmt.Errorf(format, args...)}
}

// wrapFileError returns err with the name of the file as a prefix. It does not change an
// *fs.PathError, which already contains the name.
func wrapFileError(name string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}
