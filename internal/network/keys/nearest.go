package keys

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"anesim/loader/layer"
	"anesim/loader/lower"
	"anesim/loader/network/weights"
)

// Refused reports whether err says that the engine cannot run a layer, or that the keys of a layer
// contradict each other. If so, [Operation.Nearest] may find a similar layer that works.
func Refused(err error) bool {
	var limit *layer.LimitError
	var unsupported *layer.UnsupportedError
	var wrong *layer.LayerError
	return errors.As(err, &limit) || errors.As(err, &unsupported) || errors.As(err, &wrong)
}

// Nearest looks for a small change to the keys of a refused layer that makes the engine accept it.
// values holds the keys of the layer, and m the memory sizes of the chip. Nearest prefers the
// smallest change of a single key. If no such change works, it reduces all sizes, and may also
// change a key that is not a number. It returns the changed keys as words such as "c=512", or nil
// if it finds no layer.
func (o *Operation) Nearest(values map[string]string, m layer.Memories) []string {
	s := search{o: o, memories: m, values: values}
	for _, k := range o.AllKeys() {
		s.tryValuesOfKey(k.Name)
	}
	if s.best == nil {
		s.shrinkSizes(values)
	}
	for _, k := range o.AllKeys() { // one word and all sizes
		for _, w := range wordValues[k.Name] {
			if v, ok := values[k.Name]; s.best == nil && ok && v != w {
				s.shrinkSizes(s.copyValuesWith(k.Name, w))
			}
		}
	}
	if s.best == nil && len(values["parts"]) > 0 {
		s.shrinkSizes(s.copyValuesWith("parts", "1+1"))
	}
	if s.best == nil {
		return nil
	}
	var list []string
	for _, k := range o.AllKeys() {
		if v, ok := s.best[k.Name]; ok && v != values[k.Name] {
			list = append(list, k.Name+"="+v)
		}
	}
	return list
}

// A search looks for a layer that can be lowered.
type search struct {
	o        *Operation
	memories layer.Memories
	values   map[string]string
	best     map[string]string
	change   float64 // of best: the logarithm of the ratio between sizes
}

// canLower reports whether the layer with these values can be lowered.
func (s *search) canLower(values map[string]string) bool { return s.tryLower(values) == nil }

// tryLower checks whether the layer with the given values can be lowered, and returns the error if
// it cannot.
func (s *search) tryLower(values map[string]string) error {
	l, err := s.o.Single(values)
	if err != nil {
		return err
	}
	w, err := weights.Sizes(l, 1)
	if err != nil {
		return err
	}
	l.Lower.Memories = s.memories
	return lower.Check(l.Lower, w)
}

// tryCandidate replaces the best candidate with values if they change less and can be lowered. It
// reports whether it did.
func (s *search) tryCandidate(values map[string]string, change float64) bool {
	if s.best != nil && change >= s.change || !s.canLower(values) {
		return false
	}
	s.best, s.change = values, change
	return true
}

func (s *search) copyValuesWith(key, value string) map[string]string {
	v := maps.Clone(s.values)
	v[key] = value
	return v
}

// wordValues holds the values to try for keys that are not numbers.
var wordValues = map[string][]string{
	"axis": {"c", "h", "w", "hw", "chw"}, "tx": {"false"}, "ty": {"false"}, "pad": {"same", "valid"}, "act": {"none", "relu"},
	"broadcast": {"c", "h", "w", "hw", "chw"}, "second": {"runtime"}, "bias": {"false"}, "groups": {"cin"},
}

// tryValuesOfKey tries other values for one key. For a number, it tries the largest smaller value
// that works, and neighboring multiples of 32.
func (s *search) tryValuesOfKey(key string) {
	const word = 1 // changing a word counts like cutting a size to a third
	value, given := s.values[key]
	if list := wordValues[key]; given {
		for _, w := range list {
			if w != value {
				s.tryCandidate(s.copyValuesWith(key, w), word)
			}
		}
	}
	if key == "parts" {
		s.tryFewerParts(strings.Split(value, "+"))
		return
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 {
		return
	}
	change := func(m int) float64 { return math.Abs(math.Log(float64(m) / float64(n))) }
	for _, m := range [...]int{n &^ 31, (n + 31) &^ 31} {
		if m > 0 && m != n {
			s.tryCandidate(s.copyValuesWith(key, strconv.Itoa(m)), change(m))
		}
	}
	least := minKeySize(key)
	works := func(m int) bool { return s.canLower(s.copyValuesWith(key, strconv.Itoa(m))) }
	if n <= least || !works(least) {
		return
	}
	// Find the largest size that works.
	m := least + searchLargest(n-least, func(d int) bool { return works(least + d) })
	s.tryCandidate(s.copyValuesWith(key, strconv.Itoa(m)), change(max(m, 1)))
}

// minKeySize returns the least value that the search may give to a key that is a size: 0 for some
// keys, such as begin, and 1 for all others.
func minKeySize(key string) int {
	if key == "begin" || key == "pad" {
		return 0
	}
	return 1
}

// searchLargest returns the largest d below n for which ok(d) is true, by binary search. ok(0)
// must be true, and ok must not become true again once it is false.
func searchLargest(n int, ok func(int) bool) int {
	lo, hi := 0, n
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; ok(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// tryFewerParts tries a concat of only the first inputs: as many of parts as can be lowered.
func (s *search) tryFewerParts(parts []string) {
	of := func(n int) map[string]string { return s.copyValuesWith("parts", strings.Join(parts[:n], "+")) }
	if len(parts) < 2 || !s.canLower(of(1)) {
		return
	}
	n := 1 + searchLargest(len(parts)-1, func(d int) bool { return s.canLower(of(1 + d)) })
	s.tryCandidate(of(n), math.Log(float64(len(parts))/float64(n)))
}

// shrinkSizes halves the largest of the sizes in from until the layer can be lowered, and then
// enlarges each size again as far as possible.
func (s *search) shrinkSizes(from map[string]string) {
	type size struct {
		key         string
		n, m, least int
	}
	var sizes []*size
	for _, k := range s.o.AllKeys() {
		if n, err := strconv.Atoi(from[k.Name]); err == nil && n > 0 {
			sizes = append(sizes, &size{k.Name, n, n, minKeySize(k.Name)})
		}
	}
	values := maps.Clone(from)
	for !s.canLower(values) {
		if len(sizes) == 0 {
			return
		}
		l := slices.MaxFunc(sizes, func(a, b *size) int { return cmp.Compare(a.m-a.least, b.m-b.least) })
		if l.m == l.least {
			return
		}
		// Halving reaches a valid layer in few steps, each of which lowers a layer. It mostly overshoots,
		// so the sizes grow again below.
		l.m -= (l.m - l.least + 1) / 2
		values[l.key] = strconv.Itoa(l.m)
	}
	// One after the other: the search along one size is a bisection, while all together have no order.
	for _, l := range sizes {
		with := func(d int) bool {
			v := maps.Clone(values)
			v[l.key] = strconv.Itoa(l.m + d)
			return s.canLower(v)
		}
		if l.m < l.n {
			l.m += searchLargest(l.n-l.m+1, with)
			values[l.key] = strconv.Itoa(l.m)
		}
	}
	s.tryCandidate(values, math.Inf(1))
}

// A RefusalError reports that the engine refuses a layer, and suggests changes to its keys.
type RefusalError struct {
	Op      string
	Err     error    // the reason: a *layer.LimitError, *layer.UnsupportedError or *layer.LayerError
	Nearest []string // key=value words that make the layer work; empty if none were found
	Bound   *Bound   // another limit that kept Nearest small, or nil
}

// A Bound explains why [Operation.Nearest] does not suggest a larger size. Key is the next larger
// size, and Limit is the limit that a layer of this size would exceed.
type Bound struct {
	Key   string // the smallest size that exceeds Limit, such as "c=61440"
	Limit *layer.LimitError
}

// Refuse returns an error for a layer that the engine refuses, with the changes that
// [Operation.Nearest] suggests. values holds the keys of the layer, m the memory sizes of the chip,
// and err the reason for the refusal. If the suggestion is a single size, and the next larger size
// would exceed a limit other than the one in err, Refuse sets Bound to that limit.
func (o *Operation) Refuse(values map[string]string, m layer.Memories, err error) *RefusalError {
	refused := &RefusalError{Op: o.Name, Err: err, Nearest: o.Nearest(values, m)}
	var limit *layer.LimitError
	if len(refused.Nearest) != 1 || !errors.As(err, &limit) {
		return refused
	}
	key, value, _ := strings.Cut(refused.Nearest[0], "=")
	n, err := strconv.Atoi(value)
	if err != nil {
		return refused
	}
	s := search{o: o, memories: m, values: values}
	next := strconv.Itoa(n + 1)
	var other *layer.LimitError
	if errors.As(s.tryLower(s.copyValuesWith(key, next)), &other) && other.Limit != limit.Limit {
		refused.Bound = &Bound{key + "=" + next, other}
	}
	return refused
}

func (e *RefusalError) Error() string {
	text := e.Err.Error()
	var limit *layer.LimitError
	if errors.As(e.Err, &limit) {
		text = e.Op + ": " + text
	}
	if len(e.Nearest) == 0 {
		return text
	}
	text += fmt.Sprintf("; with %s it works", strings.Join(e.Nearest, " "))
	if b := e.Bound; b != nil {
		text += fmt.Sprintf("; %s exceeds another limit: %s is %d; want at most %d", b.Key, b.Limit.Limit, b.Limit.Got, b.Limit.Max)
	}
	return text
}

// Unwrap returns the reason why the engine refuses the layer.
func (e *RefusalError) Unwrap() error { return e.Err }
