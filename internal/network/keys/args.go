package keys

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/x448/float16"

	"anesim/loader/layer"
	"anesim/loader/network/list"
)

// A KeyError reports a problem with a key of a layer: the operation does not know the key, or the
// key is missing, is given twice or has an invalid value.
type KeyError struct {
	Op    string   // the operation
	Key   string   // the key, or the malformed word
	What  string   // what is wrong
	Known []string // the operation's keys, empty if it has none
}

func (e *KeyError) Error() string {
	known := "no keys"
	if len(e.Known) > 0 {
		known = "keys " + strings.Join(e.Known, " ")
	}
	return fmt.Sprintf("%s: %s: %s; %s has %s", e.Op, e.Key, e.What, e.Op, known)
}

// unknownKey is the What of a KeyError for a key that the operation does not have.
const unknownKey = "unknown key"

// args holds the values of an operation's keys. It keeps the first error in err.
type args struct {
	op     string
	known  []string
	values map[string]string
	err    error
}

func (a *args) recordError(key, format string, v ...any) {
	if a.err == nil {
		a.err = &KeyError{a.op, key, fmt.Sprintf(format, v...), a.known}
	}
}

// checkUnknownKeys records an error for the first unknown key in alphabetical order.
func (a *args) checkUnknownKeys() {
	var unknown []string
	for k := range a.values {
		if !slices.Contains(a.known, k) {
			unknown = append(unknown, k)
		}
	}
	if len(unknown) > 0 {
		a.recordError(slices.Min(unknown), unknownKey)
	}
}

func (a *args) isGiven(key string) bool { return a.values[key] != "" }

// intValue returns the integer value of a key, or fallback if the key is not given. It records an
// error for a value that is not an integer from minimum to the largest extent.
func (a *args) intValue(key string, minimum, fallback int) int {
	v, ok := a.values[key]
	if !ok {
		return fallback
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < minimum || n > list.MaxExtent {
		a.recordError(key, "invalid value %q; want an integer from %d to %d", v, minimum, list.MaxExtent)
		return max(1, minimum)
	}
	return n
}

// requiredIntValue returns the integer value of a key. It records an error if the key is not given
// or its value is below 1.
func (a *args) requiredIntValue(key string) int {
	if !a.isGiven(key) {
		a.recordError(key, "missing key")
	}
	return a.intValue(key, 1, 1)
}

// choiceValue returns the value of a key, or choices[0] if the key is not given. It records an
// error if the value is not one of choices.
func (a *args) choiceValue(key string, choices ...string) string {
	v, ok := a.values[key]
	if !ok {
		return choices[0]
	}
	if !slices.Contains(choices, v) {
		a.recordError(key, "invalid value %q; want %s", v, strings.Join(choices, " or "))
	}
	return v
}

// releaseValue returns the release of Apple's compiler that the key release names.
func (a *args) releaseValue() layer.Release {
	switch a.choiceValue("release", "newest", "2026", "2023") {
	case "2026":
		return layer.Release2026
	case "2023":
		return layer.Release2023
	}
	return layer.Newest
}

func (a *args) boolValue(key string) bool {
	switch v := a.values[key]; v {
	case "", "0", "false", "no":
		return false
	case "1", "true", "yes":
		return true
	default:
		a.recordError(key, "invalid value %q; want true or false", v)
		return false
	}
}

func (a *args) floatValue(key string, fallback float64) float64 {
	v, ok := a.values[key]
	if !ok {
		return fallback
	}
	x, err := strconv.ParseFloat(v, 64)
	if err != nil || math.IsInf(x, 0) || math.IsNaN(x) {
		a.recordError(key, "invalid value %q; want a number", v)
	}
	return x
}

// fp16Value returns the value of a key rounded to fp16, or fallback if the key is not given. It
// records an error for a number beyond the range of fp16.
func (a *args) fp16Value(key string, fallback float64) float16.Float16 {
	x := a.floatValue(key, fallback)
	h := float16.Fromfloat32(float32(x))
	if h.IsInf(0) {
		a.recordError(key, "%v is outside the range of fp16; want a number from -65504 to 65504", x)
	}
	return h
}

// parseAxes parses the set of axes that a key gives, or fallback if the key is not given. Axes are
// written as letters (c, hw, chw) or as comma-separated numbers in N, C, H, W order (1; 2,3; -1 is
// the last).
func (a *args) parseAxes(key, fallback string) layer.Axes {
	v, ok := a.values[key]
	if !ok {
		v = fallback
	}
	batch, set, ok := readAxes(v)
	if !ok || batch {
		a.recordError(key, "invalid value %q; want distinct axes from c, h and w, such as hw, or from 1, 2 and 3, such as 2,3", v)
	}
	return set
}

// parseRepeatedAxes parses the axes along which an operand repeats, as [args.parseAxes] does. They
// may include the batch, as n or 0.
func (a *args) parseRepeatedAxes(key string) (batch bool, set layer.Axes) {
	v, given := a.values[key]
	if !given {
		return false, 0
	}
	batch, set, ok := readAxes(v)
	if !ok {
		a.recordError(key, "invalid value %q; want distinct axes from n, c, h and w, such as hw, or from 0 to 3, such as 2,3", v)
	}
	return batch, set
}

// readAxes reads a set of distinct axes from letters, such as hw, or from numbers, such as 2,3.
func readAxes(v string) (batch bool, set layer.Axes, ok bool) {
	letters := strings.ToLower(v)
	if strings.ContainsAny(letters, "-0123456789") {
		letters = ""
		for n := range strings.SplitSeq(v, ",") {
			letters += cmp.Or(axisLetter[strings.TrimSpace(n)], "?")
		}
	}
	for _, c := range letters {
		axis := map[rune]layer.Axes{'c': layer.AxisC, 'h': layer.AxisH, 'w': layer.AxisW}[c]
		switch {
		case c == 'n' && !batch:
			batch = true
		case axis == 0 || set&axis != 0:
			return batch, set, false
		}
		set |= axis
	}
	return batch, set, true
}

// axisLetter maps the number of an axis to its letter. Keys of axes along which layers work refuse n,
// the batch.
var axisLetter = map[string]string{"0": "n", "1": "c", "2": "h", "3": "w", "-4": "n", "-3": "c", "-2": "h", "-1": "w"}

// parsePartSizes returns the counts in the value of a key, which are separated by +, as in 8+16.
func (a *args) parsePartSizes(key string) []int {
	var counts []int
	for s := range strings.SplitSeq(a.values[key], "+") {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > list.MaxExtent {
			a.recordError(key, "invalid value %q; want counts from 1 to %d joined by +, such as 64+32", a.values[key], list.MaxExtent)
			return []int{1}
		}
		counts = append(counts, n)
	}
	return counts
}

// parseWindow returns the window over an input of shape in that the keys k, kh, kw, stride, sy, sx
// and pad describe. The argument k is the default number of rows and columns.
func (a *args) parseWindow(in layer.Shape, k int) layer.Window {
	k = a.intValue("k", 1, k)
	stride := a.intValue("stride", 1, 1)
	w := layer.Window{
		Kh: a.intValue("kh", 1, k), Kw: a.intValue("kw", 1, k),
		Sy: a.intValue("sy", 1, stride), Sx: a.intValue("sx", 1, stride),
	}
	switch pad := a.values["pad"]; pad {
	case "same":
		w.Py, w.Qy = layer.Same(w.Kh, w.Sy, in).Py, layer.Same(w.Kh, w.Sy, in).Qy
		w.Px, w.Qx = layer.Same(w.Kw, w.Sx, in).Px, layer.Same(w.Kw, w.Sx, in).Qx
	case "", "valid":
	default:
		w.Py, w.Qy, w.Px, w.Qx = a.parsePadding(pad)
	}
	return w
}

// parsePadding parses padding such as "1", for all sides, or "0,1,0,1", for top, bottom, left and
// right. It records an error for any other text.
func (a *args) parsePadding(pad string) (top, bottom, left, right int) {
	var sides []int
	for s := range strings.SplitSeq(pad, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(s))
		if err != nil || n < 0 || n > list.MaxExtent {
			sides = nil
			break
		}
		sides = append(sides, n)
	}
	switch len(sides) {
	case 1:
		return sides[0], sides[0], sides[0], sides[0]
	case 4:
		return sides[0], sides[1], sides[2], sides[3]
	}
	words := "same, valid, "
	if a.op == "pad" {
		words = "" // the operation pad takes numbers only
	}
	a.recordError("pad", "invalid value %q; want %sone number, or top,bottom,left,right", pad, words)
	return 0, 0, 0, 0
}

// parseAxisOrder parses the axes that become C, H and W, which a key gives, or fallback if the key
// is not given. The order is written as letters, or as comma-separated numbers of all four axes.
func (a *args) parseAxisOrder(key, fallback string) [3]layer.Axes {
	v, ok := a.values[key]
	if !ok {
		v = fallback
	}
	letters := strings.ToLower(v)
	if strings.ContainsAny(letters, "0123456789") {
		numbers := strings.Split(letters, ",")
		if first := strings.TrimSpace(numbers[0]); len(numbers) == 4 && (first == "0" || first == "1") {
			numbers = numbers[1:]
		}
		letters = ""
		for _, n := range numbers {
			letters += axisLetter[strings.TrimSpace(n)]
		}
	}
	var order [3]layer.Axes
	if len(letters) == len(order) {
		for i, c := range letters {
			order[i] = map[rune]layer.Axes{'n': layer.AxisN, 'c': layer.AxisC, 'h': layer.AxisH, 'w': layer.AxisW}[c]
		}
	}
	if order[0]|order[1]|order[2] != layer.AxisC|layer.AxisH|layer.AxisW && order != layer.SwapBatch {
		a.recordError(key, "invalid value %q; want c, h and w in any order, such as hcw or 0,2,1,3, or nhw, which exchanges n and c", v)
	}
	return order
}

// parseRepetitions parses the numbers of copies along N, C, H and W in the value of a key, such as
// "1x1x375x1". It records an error for any other text.
func (a *args) parseRepetitions(key string) layer.Shape {
	parts := strings.Split(a.values[key], "x")
	var n [4]int
	for i := range n {
		var err error
		if len(parts) != len(n) {
			break
		}
		if n[i], err = strconv.Atoi(parts[i]); err != nil || n[i] < 1 || n[i] > list.MaxExtent {
			n[i] = 0
		}
	}
	if min(n[0], n[1], n[2], n[3]) < 1 {
		a.recordError(key, "invalid value %q; want four counts from 1 to %d, such as 1x1x375x1", a.values[key], list.MaxExtent)
		return layer.Shape{N: 1, C: 1, H: 1, W: 1}
	}
	return layer.Shape{N: n[0], C: n[1], H: n[2], W: n[3]}
}
