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

// Refused reports whether an error says that the engine does not take a layer, or that the
// layer contradicts itself: what [Operation.Nearest] finds a way out of.
func Refused(err error) bool {
	var limit *layer.LimitError
	var unsupported *layer.UnsupportedError
	var wrong *layer.LayerError
	return errors.As(err, &limit) || errors.As(err, &unsupported) || errors.As(err, &wrong)
}

// Nearest finds the layer nearest to a refused one that is lowered, and returns the keys
// that differ, in the operation's order. Nearest is the one whose keys change least: one
// key if that is enough, else all sizes together. It lowers candidates for a chip's
// memories, without their weights, and returns nil where none is found.
func (o *Operation) Nearest(values map[string]string, m layer.Memories) []string {
	s := search{o: o, memories: m, values: values}
	for _, k := range o.AllKeys() {
		s.vary(k.Name)
	}
	if s.best == nil {
		s.shrink(values)
	}
	for _, k := range o.AllKeys() { // a word and the sizes
		for _, w := range words[k.Name] {
			if v, ok := values[k.Name]; s.best == nil && ok && v != w {
				s.shrink(s.with(k.Name, w))
			}
		}
	}
	if s.best == nil && len(values["parts"]) > 0 {
		s.shrink(s.with("parts", "1+1"))
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

// A search looks for a layer that is lowered.
type search struct {
	o        *Operation
	memories layer.Memories
	values   map[string]string
	best     map[string]string
	change   float64 // of the best: the sum of the sizes' ratios as logarithms
}

// works reports whether a layer is lowered.
func (s *search) works(values map[string]string) bool { return s.lower(values) == nil }

// lower lowers a layer without its weights and returns the error.
func (s *search) lower(values map[string]string) error {
	l, err := s.o.Single(values)
	if err != nil {
		return err
	}
	w, err := weights.Sizes(l, 1)
	if err != nil {
		return err
	}
	l.Lower.Memories = s.memories
	_, err = lower.Sized(l.Lower, w)
	return err
}

// try takes a layer as the best that works if it changes less than the best so far.
func (s *search) try(values map[string]string, change float64) bool {
	if s.best != nil && change >= s.change || !s.works(values) {
		return false
	}
	s.best, s.change = values, change
	return true
}

func (s *search) with(key, value string) map[string]string {
	v := maps.Clone(s.values)
	v[key] = value
	return v
}

// words are the values of keys that are no numbers, which are tried one after the other.
var words = map[string][]string{
	"axis": {"c", "h", "w", "hw", "chw"}, "tx": {"false"}, "ty": {"false"}, "pad": {"same", "valid"}, "act": {"none", "relu"},
	"broadcast": {"c", "h", "w", "hw", "chw"}, "second": {"runtime"}, "bias": {"false"}, "groups": {"cin"},
}

// vary changes one key alone: a number to the largest smaller one that works, or the next
// multiple of 32 above.
func (s *search) vary(key string) {
	const word = 1 // a word counts like a size cut to a third
	value, given := s.values[key]
	if list := words[key]; given {
		for _, w := range list {
			if w != value {
				s.try(s.with(key, w), word)
			}
		}
	}
	if key == "parts" {
		s.parts(strings.Split(value, "+"))
		return
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 {
		return
	}
	change := func(m int) float64 { return math.Abs(math.Log(float64(m) / float64(n))) }
	for _, m := range [...]int{n &^ 31, (n + 31) &^ 31} {
		if m > 0 && m != n {
			s.try(s.with(key, strconv.Itoa(m)), change(m))
		}
	}
	least := least(key)
	works := func(m int) bool { return s.works(s.with(key, strconv.Itoa(m))) }
	if n <= least || !works(least) {
		return
	}
	// Of the sizes that work from least on, the largest.
	m := least + largest(n-least, func(d int) bool { return works(least + d) })
	s.try(s.with(key, strconv.Itoa(m)), change(max(m, 1)))
}

// least is the least size that a key can have.
func least(key string) int {
	if key == "begin" || key == "pad" {
		return 0
	}
	return 1
}

// largest is the largest d below n for which ok holds, where ok(0) does and those above
// one that fails fail too.
func largest(n int, ok func(int) bool) int {
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

// parts leaves inputs of a concat out.
func (s *search) parts(parts []string) {
	of := func(n int) map[string]string { return s.with("parts", strings.Join(parts[:n], "+")) }
	if len(parts) < 2 || !s.works(of(1)) {
		return
	}
	n := 1 + largest(len(parts)-1, func(d int) bool { return s.works(of(1 + d)) })
	s.try(of(n), math.Log(float64(len(parts))/float64(n)))
}

// shrink halves all sizes, the largest first, until the layer works, and then lets each
// grow again as far as it does.
func (s *search) shrink(from map[string]string) {
	type size struct {
		key         string
		n, m, least int
	}
	var sizes []*size
	for _, k := range s.o.AllKeys() {
		if n, err := strconv.Atoi(from[k.Name]); err == nil && n > 0 {
			sizes = append(sizes, &size{k.Name, n, n, least(k.Name)})
		}
	}
	values := maps.Clone(from)
	for !s.works(values) {
		if len(sizes) == 0 {
			return
		}
		l := slices.MaxFunc(sizes, func(a, b *size) int { return cmp.Compare(a.m-a.least, b.m-b.least) })
		if l.m == l.least {
			return
		}
		l.m -= (l.m - l.least + 1) / 2
		values[l.key] = strconv.Itoa(l.m)
	}
	for _, l := range sizes {
		with := func(d int) bool {
			v := maps.Clone(values)
			v[l.key] = strconv.Itoa(l.m + d)
			return s.works(v)
		}
		if l.m < l.n {
			l.m += largest(l.n-l.m+1, with)
			values[l.key] = strconv.Itoa(l.m)
		}
	}
	s.try(values, math.Inf(1))
}

// A RefusalError is a layer that the engine does not take, and the nearest one that it does.
type RefusalError struct {
	Op      string
	Err     error    // why: a *layer.LimitError, *layer.UnsupportedError or *layer.LayerError
	Nearest []string // keys and values that make it a layer that is lowered; empty if none was found
	Bound   *Bound   // the other limit that Nearest keeps; nil if it keeps that of Err
}

// A Bound is a limit that a size exceeds.
type Bound struct {
	Key   string // the size, such as "c=61440"
	Limit *layer.LimitError
}

// Refuse returns the error for a layer that a chip with these memories refuses with err. It
// names the nearest layer that works. If that one is smaller than the limit in err allows,
// the error also names the limit that the next larger size exceeds.
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
	if errors.As(s.lower(s.with(key, next)), &other) && other.Limit != limit.Limit {
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
		text += fmt.Sprintf("; %s exceeds another limit: %s is %d, the engine takes at most %d", b.Key, b.Limit.Limit, b.Limit.Got, b.Limit.Max)
	}
	return text
}

// Unwrap returns the cause.
func (e *RefusalError) Unwrap() error { return e.Err }
