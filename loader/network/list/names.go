package list

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxName is the largest size of a tensor's name in bytes. A container has no room for more.
const maxName = 1 << 10

// Rename changes tensor, layer and operator names that a program file cannot store. It escapes
// unprintable characters and shortens long names. If two tensors would get the same name, Rename
// appends a suffix such as "~2" to one of them.
func (n *Network) Rename() {
	r := renamer{names: map[string]string{}, taken: map[string]bool{}}
	n.forEachTensorName(func(name *string) {
		if escapeName(*name) == *name {
			r.taken[*name] = true
		} else {
			r.unsafe = true
		}
	})
	if r.unsafe {
		n.forEachTensorName(func(name *string) { *name = r.renameTensor(*name) })
		n.Constants, n.Made, n.Cuts = renameKeys(&r, n.Constants), renameKeys(&r, n.Made), renameKeys(&r, n.Cuts)
	}
	for i := range n.Layers {
		l := &n.Layers[i]
		l.Name = escapeName(l.Name)
		for k, name := range l.Folded {
			l.Folded[k] = escapeName(name)
		}
	}
	for i := range n.Nodes {
		n.Nodes[i].Name = escapeName(n.Nodes[i].Name)
	}
}

// forEachTensorName calls visit with a pointer to every tensor name of the network except map keys:
// in inputs, in layers, in outputs, in results and in cuts, in this order.
func (n *Network) forEachTensorName(visit func(*string)) {
	all := func(names []string) {
		for i := range names {
			visit(&names[i])
		}
	}
	for i := range n.Inputs {
		visit(&n.Inputs[i].Name)
		visit(&n.Inputs[i].State)
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

// A renamer assigns names to tensors.
type renamer struct {
	names  map[string]string // assigned names, by the name in the file
	taken  map[string]bool
	unsafe bool // whether any name has to change
}

// renameTensor returns the new name of the tensor with the name old in the file. The same tensor
// always gets the same name.
func (r *renamer) renameTensor(old string) string {
	name := escapeName(old)
	if name == old {
		return old
	}
	if given, ok := r.names[old]; ok {
		return given
	}
	for i, first := 2, name; r.taken[name]; i++ {
		name = fmt.Sprintf("%s~%d", first, i)
	}
	r.names[old], r.taken[name] = name, true
	return name
}

// renameKeys returns m with its keys replaced by their new names. A key without a new name stays.
func renameKeys[V any](r *renamer, m map[string]V) map[string]V {
	for name, v := range m {
		if to, ok := r.names[name]; ok {
			delete(m, name)
			m[to] = v
		}
	}
	return m
}

// escapeName returns name with unprintable characters escaped, shortened to the size that a
// container allows.
func escapeName(name string) string {
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
