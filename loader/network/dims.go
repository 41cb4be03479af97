package network

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"anesim/loader/network/graph"
	"anesim/loader/network/list"
)

// A DimError is a network with dimensions that have no size, or sizes for dimensions that
// it does not have.
type DimError struct {
	Needed  []Dim
	Unknown []string // given, and no dimension's name
	Known   []string // where there are unknown ones, the names that exist
}

// A Dim is a dimension by name and where it stands: an axis of an input.
type Dim struct {
	Name, Input string
	Axis, Rank  int
}

// example returns a size that the dimension may well have: of a batch, of the height or width
// of a picture, or of a sequence.
func (d *Dim) example() int {
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
			example = append(example, fmt.Sprintf("%s=%d", d.Name, d.example()))
		}
		parts = append(parts, fmt.Sprintf("dimensions without a size: %s; give them as in --dim %s",
			strings.Join(list, ", "), strings.Join(example, ",")))
	}
	if len(e.Unknown) > 0 {
		known := "no dimension without a size"
		if len(e.Known) > 0 {
			known = strings.Join(e.Known, ", ")
		}
		parts = append(parts, fmt.Sprintf("no dimension is called %s: the network has %s", strings.Join(e.Unknown, ", "), known))
	}
	return list.OneLine.Replace(strings.Join(parts, "; "))
}

// ParseDims reads sizes of dimensions as the command line has them: N=1,height=640.
func ParseDims(text string) (map[string]int, error) {
	sizes := map[string]int{}
	for pair := range strings.SplitSeq(text, ",") {
		at := strings.LastIndexByte(pair, '=')
		if at < 1 {
			return nil, fmt.Errorf("%q: want NAME=SIZE", pair)
		}
		n, err := strconv.Atoi(pair[at+1:])
		if err != nil || n < 0 || n > list.MaxExtent {
			return nil, fmt.Errorf("%q: want a size from 0 to %d", pair, list.MaxExtent)
		}
		if _, twice := sizes[pair[:at]]; twice {
			return nil, fmt.Errorf("%q is given twice", pair[:at])
		}
		sizes[pair[:at]] = n
	}
	return sizes, nil
}

// maxNames bounds the names of dimensions that an error lists.
const maxNames = 20

// A binder gives dimensions their sizes.
type binder struct {
	sizes  map[string]int
	first  map[string]bool // names of first dimensions
	used   map[string]bool
	names  []string // of the dimensions that have no size, in order
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

// value is what an input of one integer was given.
func (b *binder) value(v graph.Port) (int, bool) {
	if len(v.Dims) > 0 || v.Type.IsFloat() || v.Type.Width() == 0 {
		return 0, false
	}
	n, ok := b.sizes[v.Name]
	b.used[v.Name] = b.used[v.Name] || ok
	return n, ok
}

// dimName returns the name that a file gives a dimension. Several dimensions named "?", which
// some exporters write, have nothing in common, so that is no name.
func dimName(d graph.Dim) string {
	if d.Name == "?" {
		return ""
	}
	return d.Name
}

func (b *binder) bind(v graph.Port) []int {
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

func (b *binder) err() error {
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
