package sweep

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// chipPrefix is the beginning of an axis name that refers to a constant of the chip, such as
// "chip.Clock" for the constant Clock.
const chipPrefix = "chip."

// maxValues is the largest number of values of one axis.
const maxValues = 1 << 16

// MaxPoints is the largest number of points that a sweep can have.
const MaxPoints = 1 << 28

// An axis is a key and its values.
type axis struct {
	name   string
	values []string
}

// A grid holds the axes of a sweep. Its points are all combinations of their values; the last
// axis changes fastest.
type grid []axis

// parseAxis parses NAME=VALUES, where VALUES is a comma-separated list of values and ranges.
func parseAxis(s string) (axis, error) {
	name, list, ok := strings.Cut(s, "=")
	if !ok || name == "" || list == "" {
		return axis{}, argumentErrorf("malformed axis %q; want KEY=VALUES", s)
	}
	a := axis{name: name}
	for item := range strings.SplitSeq(list, ",") {
		expand := expandListItem
		if strings.HasPrefix(name, chipPrefix) {
			expand = expandRealListItem
		}
		values, err := expand(item)
		if err != nil {
			return axis{}, argumentErrorf("%s: %v", name, err)
		}
		a.values = append(a.values, values...)
		if len(a.values) > maxValues {
			return axis{}, argumentErrorf("axis %s has more than %d values", name, maxValues)
		}
	}
	return a, nil
}

// expandListItem returns the values of one item of a list of values. The item is a value or a range
// of integers, FROM..TO, FROM..TO+STEP or FROM..TO*FACTOR. It stops after maxValues+1 values.
func expandListItem(item string) ([]string, error) {
	first, rest, ok := strings.Cut(item, "..")
	if !ok {
		if item == "" {
			return nil, errors.New("empty value; want a number or a name")
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
		if *into, err = parseRangeNumber(rest[i+1:]); err != nil {
			return nil, err
		}
	}
	from, err := parseRangeNumber(first)
	if err != nil {
		return nil, err
	}
	to, err := parseRangeNumber(last)
	switch {
	case err != nil:
		return nil, err
	case from > to || step == 0 && (factor < 2 || from < 1) || factor == 1 && step < 1:
		return nil, fmt.Errorf("invalid range %q; want FROM <= TO and a positive step, or 0 < FROM <= TO and a factor above 1", item)
	}
	var values []string
	// One value more than allowed, by which the caller sees that the range is too long.
	for v := from; v <= to && len(values) <= maxValues; v = v*factor + step {
		values = append(values, strconv.Itoa(v))
	}
	return values, nil
}

// expandRealListItem is like expandListItem, but for real numbers. A range must have a step or a
// factor. It returns every number in its shortest form.
func expandRealListItem(item string) ([]string, error) {
	number := func(s string) (float64, error) {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
			return 0, fmt.Errorf("%q is not a finite number", s)
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
	// A plus after an e belongs to the exponent.
	cut := -1
	for i := range rest {
		if rest[i] == '*' || rest[i] == '+' && i > 0 && rest[i-1] != 'e' && rest[i-1] != 'E' {
			cut = i
			break
		}
	}
	if cut < 0 {
		return nil, fmt.Errorf("missing step or factor in range %q; want FROM..TO+STEP or FROM..TO*FACTOR", item)
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
		return nil, fmt.Errorf("invalid range %q; want FROM <= TO and a positive step, or 0 < FROM <= TO and a factor above 1", item)
	}
	var values []string
	for i := 0; len(values) <= maxValues; i++ {
		// Adding the step again and again would add up its rounding. The conversion of the product
		// prevents a fused multiply-add, which would give other values on arm64.
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

// parseRangeNumber parses a decimal integer, or a hexadecimal one with the prefix 0x. It accepts at
// most 32 bits, so that the product of two numbers cannot overflow.
func parseRangeNumber(s string) (int, error) {
	v, err := strconv.ParseInt(s, 0, 32)
	if err != nil {
		return 0, fmt.Errorf("invalid number %q in a range; want a signed 32-bit integer", s)
	}
	return int(v), nil
}

// countPoints returns the number of points, which is the product of the numbers of values of all
// axes. It returns an error if there are more than MaxPoints.
func (g grid) countPoints() (int, error) {
	n := 1
	for _, a := range g {
		n *= len(a.values)
		if n > MaxPoints {
			return 0, argumentErrorf("grid has more than %d points", MaxPoints)
		}
	}
	return n, nil
}

// valuesAt returns the value of each axis at the point with the given number.
func (g grid) valuesAt(point int) []string {
	values := make([]string, len(g))
	for i := len(g) - 1; i >= 0; i-- {
		n := len(g[i].values)
		values[i] = g[i].values[point%n]
		point /= n
	}
	return values
}

// A Shard is a part of a sweep's points, to be timed by one of several processes. Shard i of n
// consists of every n-th point, starting with point i-1.
type Shard struct{ i, n int }

// Point returns the number within the whole sweep of point k of the shard. Both numbers start at 0.
func (s Shard) Point(k int) int { return k*s.n + s.i - 1 }

// Points returns the number of points in the shard, given the total of the whole sweep.
func (s Shard) Points(total int) int { return (total - s.i + s.n) / s.n }

// ParseShard parses text of the form "I/N", such as "2/8" for the second of eight shards. An empty
// text means the whole sweep. The error is an *[ArgumentError].
func ParseShard(s string) (Shard, error) {
	if s == "" {
		return Shard{1, 1}, nil
	}
	first, second, _ := strings.Cut(s, "/")
	i, err1 := strconv.Atoi(first)
	n, err2 := strconv.Atoi(second)
	if err1 == nil && err2 == nil && n > MaxPoints {
		return Shard{}, argumentErrorf("shard %q has more than %d parts", s, MaxPoints)
	}
	if err1 != nil || err2 != nil || i < 1 || i > n {
		return Shard{}, argumentErrorf("malformed shard %q; want I/N with I from 1 to N", s)
	}
	return Shard{i, n}, nil
}
