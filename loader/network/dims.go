package network

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"anesim/internal/network/graph"
	"anesim/loader/network/list"
)

// A DimError reports that dimensions of a network have no size, or that sizes were given for
// unknown dimensions.
type DimError struct {
	Needed  []Dim
	Unknown []string // given names that no dimension has
	Known   []string // existing names, if Unknown is not empty
	// Deciding names inputs whose value may decide the condition of an If node, if Needed is not
	// empty. Such a value is given like the size of a dimension.
	Deciding []string
}

// A Dim is a dimension of a network's input whose size is missing from the file. The user gives the
// size by the dimension's name.
type Dim struct {
	Name, Input string // names of the dimension and of the input that has it
	Axis, Rank  int    // number of the axis, and number of axes of the input
	Alone       bool   // no other axis of the input is open
}

// suggestSize returns a size that the dimension could have, for use in a message: 1 for a batch and
// 224 for a side of an image. It returns "SIZE" for any other dimension, such as the length of a
// sequence, because a network may not accept an arbitrary size.
func (d *Dim) suggestSize() string {
	switch {
	case d.Axis == 0, d.Rank == 3 && d.Axis == 1 && d.Alone: // the state of a recurrent layer has its batch there
		return "1"
	case d.Rank >= 4 && d.Axis >= 2:
		return "224"
	}
	return "SIZE"
}

// suggestSizes returns sizes for all dimensions that need one, in the form that [ParseDims] reads.
// Sizes that cannot be guessed are placeholders, as in "batch=1,length=SIZE".
func (e *DimError) suggestSizes() string {
	var parts []string
	for i := range e.Needed {
		parts = append(parts, e.Needed[i].Name+"="+e.Needed[i].suggestSize())
	}
	for _, name := range e.Deciding {
		parts = append(parts, name+"=VALUE")
	}
	return strings.Join(parts, ",")
}

// Error returns a message that lists the dimensions without a size and the unknown names. If only
// sizes are missing, the message ends with example sizes, such as "batch=1".
func (e *DimError) Error() string {
	var parts []string
	if len(e.Needed) > 0 {
		var list []string
		for i := range e.Needed {
			list = append(list, fmt.Sprintf("%q of input %q", e.Needed[i].Name, e.Needed[i].Input))
		}
		parts = append(parts, "dimensions have no size: "+strings.Join(list, ", "))
		for _, name := range e.Deciding {
			parts = append(parts, fmt.Sprintf("the value of input %q may decide which branch of an If runs", name))
		}
		parts = append(parts, "want sizes such as "+e.suggestSizes())
	}
	if len(e.Unknown) > 0 {
		known := "no dimension without a size"
		if len(e.Known) > 0 {
			known = strings.Join(e.Known, ", ")
		}
		parts = append(parts, fmt.Sprintf("unknown dimension %s; the network has %s", strings.Join(e.Unknown, ", "), known))
	}
	return list.OneLine.Replace(strings.Join(parts, "; "))
}

// ParseDims parses a comma-separated list of dimensions and their sizes, such as "N=1,height=640",
// and returns the sizes by name. It returns an error for a malformed pair, a size out of range, or
// a name that is given twice.
func ParseDims(text string) (map[string]int, error) {
	sizes := map[string]int{}
	for pair := range strings.SplitSeq(text, ",") {
		at := strings.LastIndexByte(pair, '=')
		if at < 1 {
			return nil, fmt.Errorf("invalid dimension %q; want NAME=SIZE", pair)
		}
		n, err := strconv.Atoi(pair[at+1:])
		if err != nil || n < 0 || n > list.MaxExtent {
			return nil, fmt.Errorf("invalid size in %q; want an integer from 0 to %d", pair, list.MaxExtent)
		}
		if _, twice := sizes[pair[:at]]; twice {
			return nil, fmt.Errorf("duplicate dimension %q", pair[:at])
		}
		sizes[pair[:at]] = n
	}
	return sizes, nil
}

// maxNames is the largest number of dimension names that an error lists.
const maxNames = 20

// A binder assigns sizes to dimensions.
type binder struct {
	sizes  map[string]int
	first  map[string]bool // names of batch dimensions
	used   map[string]bool
	names  []string // names of dimensions without a size, in order
	ones   []string // names of batch dimensions that are 1, because no size is given
	failed DimError
	// defaults are the inputs that have a shape which the file suggests.
	defaults []string
	open     map[string][]string // sizes that the user may give, by the input
}

// A ShapeError reports that sizes were given for an input that together are a shape which the file does
// not allow.
type ShapeError struct {
	Input  string
	Dims   []int
	Shapes *graph.Shapes
}

func (e *ShapeError) Error() string {
	return list.OneLine.Replace(fmt.Sprintf("input %q has shape %v; want one that the file allows: %v", e.Input, e.Dims, e.Shapes))
}

func newBinder(sizes map[string]int, inputs ...graph.Port) *binder {
	b := &binder{sizes: sizes, used: map[string]bool{}, open: map[string][]string{}, first: map[string]bool{}}
	for _, in := range inputs {
		if len(in.Dims) > 1 && dimName(in.Dims[0]) != "" {
			b.first[in.Dims[0].Name] = true
		}
	}
	return b
}

// integerInput returns the value that the user gave for input v. The result is false if v is not a
// single integer, or if the user gave no value.
func (b *binder) integerInput(v graph.Port) (int, bool) {
	if !isSingleInteger(v) {
		return 0, false
	}
	n, ok := b.sizes[v.Name]
	b.used[v.Name] = b.used[v.Name] || ok
	return n, ok
}

// countGivenAxes returns the number of axes of the named input, which has no shape in the file, for which
// the user gives sizes: those of axis 0, 1 and so on without a gap.
func countGivenAxes(input string, sizes map[string]int) int {
	for i := range graph.MaxRank {
		if _, ok := sizes[fmt.Sprintf("%s:%d", input, i)]; !ok {
			return i
		}
	}
	return graph.MaxRank
}

// dimName returns the name that the file gives dimension d, or "". It also returns "" for the name
// "?", which some exporters give to several dimensions that are not equal.
func dimName(d graph.Dim) string {
	if d.Name == "?" {
		return ""
	}
	return d.Name
}

func (b *binder) bindDims(v graph.Port) []int {
	dims := []int{}
	for i, d := range v.Dims {
		if d.Size > 0 && d.Size <= list.MaxExtent {
			dims = append(dims, int(d.Size))
			continue
		}
		name := dimName(d)
		if name == "" {
			name = fmt.Sprintf("%s:%d", v.Name, i)
		}
		size, ok := b.sizes[name]
		b.used[name] = true
		if !slices.Contains(b.names, name) {
			b.names = append(b.names, name)
		}
		switch {
		case ok && (size > 0 || i > 0): // 0 is the length of an empty cache, but no batch
		case v.Shapes.DefaultOf(len(v.Dims), i) > 0:
			size = v.Shapes.DefaultOf(len(v.Dims), i)
			b.open[v.Name] = append(b.open[v.Name], fmt.Sprintf("%s=%d", name, size))
			if !slices.Contains(b.defaults, v.Name) {
				b.defaults = append(b.defaults, v.Name)
			}
		// A free first axis is a batch in nearly all files, so it is 1 unless the caller says otherwise.
		case i == 0 || b.first[name]:
			size = 1
			if !slices.Contains(b.ones, name) {
				b.ones = append(b.ones, name)
			}
		case !slices.ContainsFunc(b.failed.Needed, func(x Dim) bool { return x.Name == name }):
			b.failed.Needed = append(b.failed.Needed, Dim{name, v.Name, i, len(v.Dims), countOpenAxes(v) == 1})
		}
		if !ok || i == 0 {
			size = max(1, size)
		}
		dims = append(dims, size)
	}
	return dims
}

// countOpenAxes returns the number of axes of v without a size.
func countOpenAxes(v graph.Port) (n int) {
	for _, d := range v.Dims {
		if d.Size <= 0 || d.Size > list.MaxExtent {
			n++
		}
	}
	return n
}

func (b *binder) checkNames() error {
	for name := range b.sizes {
		if !b.used[name] {
			b.failed.Unknown = append(b.failed.Unknown, name)
		}
	}
	slices.Sort(b.failed.Unknown)
	if len(b.failed.Unknown) > 0 {
		b.failed.Known = b.names[:min(len(b.names), maxNames)]
	}
	if len(b.failed.Needed)+len(b.failed.Unknown) == 0 {
		return nil
	}
	return &b.failed
}
