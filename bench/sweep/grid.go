package sweep

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// ChipPrefix is what the name of an axis over a chip's constant starts with.
const ChipPrefix = "chip."

// Bounds of a grid.
const (
	maxValues = 1 << 16 // of one axis
	MaxPoints = 1 << 28
)

// An axis is a key with the values it takes.
type axis struct {
	name   string
	values []string
}

// A grid is all combinations of its axes' values; the last axis changes fastest.
type grid []axis

// parseAxis reads NAME=VALUES: values and ranges joined by commas.
func parseAxis(s string) (axis, error) {
	name, list, ok := strings.Cut(s, "=")
	if !ok || name == "" || list == "" {
		return axis{}, wrong("%q: want KEY=VALUES", s)
	}
	a := axis{name: name}
	for item := range strings.SplitSeq(list, ",") {
		expand := expand
		if strings.HasPrefix(name, ChipPrefix) {
			expand = expandReal
		}
		values, err := expand(item)
		if err != nil {
			return axis{}, wrong("%s: %v", name, err)
		}
		a.values = append(a.values, values...)
		if len(a.values) > maxValues {
			return axis{}, wrong("%s: more than %d values", name, maxValues)
		}
	}
	return a, nil
}

// expand is the values of one item: itself, or those of a range FROM..TO, FROM..TO+STEP
// or FROM..TO*FACTOR.
func expand(item string) ([]string, error) {
	first, rest, ok := strings.Cut(item, "..")
	if !ok {
		if item == "" {
			return nil, fmt.Errorf("an empty value")
		}
		return []string{item}, nil
	}
	step, factor := 1, 1
	var err error
	last := rest
	if i := strings.IndexAny(rest, "+*"); i >= 0 {
		last = rest[:i]
		into := &step
		if rest[i] == '*' {
			step, into = 0, &factor
		}
		if *into, err = rangeNumber(rest[i+1:]); err != nil {
			return nil, err
		}
	}
	from, err := rangeNumber(first)
	if err != nil {
		return nil, err
	}
	to, err := rangeNumber(last)
	switch {
	case err != nil:
		return nil, err
	case from > to || step == 0 && (factor < 2 || from < 1) || factor == 1 && step < 1:
		return nil, fmt.Errorf("%q: the range does not get to its end", item)
	}
	var values []string
	for v := from; v <= to && len(values) <= maxValues; v = v*factor + step {
		values = append(values, strconv.Itoa(v))
	}
	return values, nil
}

// expandReal is expand of real numbers, with every number as it is printed shortest.
func expandReal(item string) ([]string, error) {
	number := func(s string) (float64, error) {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
			return 0, fmt.Errorf("%q is not a number", s)
		}
		return v, nil
	}
	text := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	first, rest, ok := strings.Cut(item, "..")
	from, err := number(first)
	if err != nil {
		return nil, err
	}
	if !ok {
		return []string{text(from)}, nil
	}
	// A plus or a minus behind an e is the exponent's.
	cut := -1
	for i := range rest {
		if rest[i] == '*' || rest[i] == '+' && i > 0 && rest[i-1] != 'e' && rest[i-1] != 'E' {
			cut = i
			break
		}
	}
	if cut < 0 {
		return nil, fmt.Errorf("%q: a range of real numbers requires a step, FROM..TO+STEP or FROM..TO*FACTOR", item)
	}
	to, err := number(rest[:cut])
	if err != nil {
		return nil, err
	}
	by, err := number(rest[cut+1:])
	if err != nil {
		return nil, err
	}
	times := rest[cut] == '*'
	if from > to || times && (by <= 1 || from <= 0) || !times && by <= 0 {
		return nil, fmt.Errorf("%q: the range does not get to its end", item)
	}
	var values []string
	for i := 0; len(values) <= maxValues; i++ {
		v := from + float64(float64(i)*by)
		if times {
			v = from * math.Pow(by, float64(i))
		}
		if v > to {
			break
		}
		values = append(values, text(v))
	}
	return values, nil
}

// rangeNumber reads an integer, hexadecimal with 0x, small enough that products of two
// are exact.
func rangeNumber(s string) (int, error) {
	v, err := strconv.ParseInt(s, 0, 32)
	if err != nil {
		return 0, fmt.Errorf("%q is no number a range can have", s)
	}
	return int(v), nil
}

// points is the number of combinations.
func (g grid) points() (int, error) {
	n := 1
	for _, a := range g {
		n *= len(a.values)
		if n > MaxPoints {
			return 0, wrong("more than %d points", MaxPoints)
		}
	}
	return n, nil
}

// at is the values of one point, an axis each.
func (g grid) at(point int) []string {
	values := make([]string, len(g))
	for i := len(g) - 1; i >= 0; i-- {
		n := len(g[i].values)
		values[i] = g[i].values[point%n]
		point /= n
	}
	return values
}
