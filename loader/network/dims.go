package network

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"anesim/loader/network/graph"
	"anesim/loader/network/list"
)

// A DimError reports the dimensions of a network that need a size, and the sizes that were given
// for dimensions which the network does not have.
type DimError struct {
	Needed  []Dim
	Unknown []string // given names that no dimension has
	Known   []string // existing names, if Unknown is not empty
}

// A Dim is a dimension that a network's file leaves open: an axis of an input with a name
// instead of a size.
type Dim struct {
	Name, Input string // of the dimension, and of the input that has it
	Axis, Rank  int    // number of the axis, and number of axes of the input
}

// exampleSize returns a size that the dimension could have, for use in a message: 1 for a batch,
// 224 for the side of an image, and 128 for the length of a sequence.
func (d *Dim) exampleSize() int {
	switch {
	case d.Axis == 0:
		return 1
	case d.Rank >= 4 && d.Axis >= 2:
		return 224
	}
	return 128
}

func (e *DimError) Error() string {
	var parts []string
	if len(e.Needed) > 0 {
		var list, example []string
		for i := range e.Needed {
			d := &e.Needed[i]
			list = append(list, fmt.Sprintf("%q of input %q", d.Name, d.Input))
			example = append(example, fmt.Sprintf("%s=%d", d.Name, d.exampleSize()))
		}
		parts = append(parts, fmt.Sprintf("dimensions have no size: %s; want a size for each, such as --dim %s",
			strings.Join(list, ", "), strings.Join(example, ",")))
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

// ParseDims parses a comma-separated list of sizes of named dimensions, such as
// "N=1,height=640". It returns an error for a malformed pair, a size out of range, or a name
// that is given twice.
func ParseDims(text string) (map[string]int, error) {
	sizes := map[string]int{}
	for pair := range strings.SplitSeq(text, ",") {
		at := strings.LastIndexByte(pair, '=')
		if at < 1 {
			return nil, fmt.Errorf("found %q, want NAME=SIZE", pair)
		}
		n, err := strconv.Atoi(pair[at+1:])
		if err != nil || n < 0 || n > list.MaxExtent {
			return nil, fmt.Errorf("invalid size in %q; want an integer from 0 to %d", pair, list.MaxExtent)
		}
		if _, twice := sizes[pair[:at]]; twice {
			return nil, fmt.Errorf("dimension %q is given twice", pair[:at])
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
	failed DimError
}

func newBinder(sizes map[string]int, inputs ...graph.Port) *binder {
	b := &binder{sizes: sizes, used: map[string]bool{}, first: map[string]bool{}}
	for _, in := range inputs {
		if len(in.Dims) > 1 && dimName(in.Dims[0]) != "" {
			b.first[in.Dims[0].Name] = true
		}
	}
	return b
}

// integerInput returns the value that the user gave for input v, which must be a single integer.
// The second result is false for other inputs, and if the user gave no value.
func (b *binder) integerInput(v graph.Port) (int, bool) {
	if len(v.Dims) > 0 || v.Type.IsFloat() || v.Type.Width() == 0 {
		return 0, false
	}
	n, ok := b.sizes[v.Name]
	b.used[v.Name] = b.used[v.Name] || ok
	return n, ok
}

// dimName returns the name that a file gives a dimension. Some exporters name dimensions "?",
// which does not mean that they are equal, so that counts as no name.
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
		case ok && size > 0:
		case i == 0 || b.first[name]:
			size = 1
		case !slices.ContainsFunc(b.failed.Needed, func(x Dim) bool { return x.Name == name }):
			b.failed.Needed = append(b.failed.Needed, Dim{name, v.Name, i, len(v.Dims)})
		}
		dims = append(dims, max(1, size))
	}
	return dims
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
