package list

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxName bounds the bytes of a tensor's name: a container has no room for longer ones.
const maxName = 1 << 10

// Rename gives tensors, layers and nodes names that everything behind the list may use as they
// are: containers end a name at a zero byte and escape what a terminal would obey, so that two
// tensors would become one, or none. Characters that are not printable are escaped, and what
// would then have the name of another tensor gets a number behind it.
func (n *Network) Rename() {
	r := renamer{names: map[string]string{}, taken: map[string]bool{}}
	n.eachName(func(name *string) {
		if safe(*name) == *name {
			r.taken[*name] = true
		} else {
			r.unsafe = true
		}
	})
	if r.unsafe {
		n.eachName(func(name *string) { *name = r.name(*name) })
		n.Constants, n.Made, n.Cuts = renamed(&r, n.Constants), renamed(&r, n.Made), renamed(&r, n.Cuts)
	}
	for i := range n.Layers {
		l := &n.Layers[i]
		l.Name = safe(l.Name)
		for k, name := range l.Folded {
			l.Folded[k] = safe(name)
		}
	}
	for i := range n.Nodes {
		n.Nodes[i].Name = safe(n.Nodes[i].Name)
	}
}

// eachName calls visit with every place that a tensor's name stands in, but the keys of maps:
// of inputs, then of layers in their order, then of results.
func (n *Network) eachName(visit func(*string)) {
	all := func(names []string) {
		for i := range names {
			visit(&names[i])
		}
	}
	for i := range n.Inputs {
		visit(&n.Inputs[i].Name)
	}
	for i := range n.Layers {
		l := &n.Layers[i]
		all(l.Inputs)
		visit(&l.Output)
		all(l.Others)
		if l.Host != nil {
			for k := range l.Host.Outputs {
				visit(&l.Host.Outputs[k].Name)
			}
		}
	}
	all(n.Outputs)
	for i := range n.Results {
		visit(&n.Results[i].Name)
		visit(&n.Results[i].Tensor)
	}
	for _, c := range n.Cuts {
		all(c.Inputs)
	}
}

// A renamer gives names to tensors.
type renamer struct {
	names  map[string]string // those that were given, by what the file has
	taken  map[string]bool
	unsafe bool // some name has to be another
}

// name is a tensor's name, the same whenever it is asked for.
func (r *renamer) name(of string) string {
	name := safe(of)
	if name == of {
		return of
	}
	if given, ok := r.names[of]; ok {
		return given
	}
	for i, first := 2, name; r.taken[name]; i++ {
		name = fmt.Sprintf("%s~%d", first, i)
	}
	r.names[of], r.taken[name] = name, true
	return name
}

// renamed is a map under the new names. Nothing reads a tensor that has no name yet, so that
// the order of the keys does not matter.
func renamed[V any](r *renamer, m map[string]V) map[string]V {
	for name, v := range m {
		if to, ok := r.names[name]; ok {
			delete(m, name)
			m[to] = v
		}
	}
	return m
}

// safe is a name in characters that print, cut to what a container has room for.
func safe(name string) string {
	plain := len(name) <= maxName
	for i := 0; plain && i < len(name); i++ {
		plain = name[i] >= ' ' && name[i] < 0x7f
	}
	if plain {
		return name
	}
	var b strings.Builder
	for rest := name; rest != "" && b.Len() < maxName; {
		c, size := utf8.DecodeRuneInString(rest)
		switch {
		case c == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, rest[0])
		case c == utf8.RuneError:
			b.WriteString(`\ufffd`)
		case !unicode.IsPrint(c):
			q := strconv.QuoteRune(c)
			b.WriteString(q[1 : len(q)-1])
		default:
			b.WriteRune(c)
		}
		rest = rest[size:]
	}
	return b.String()
}
