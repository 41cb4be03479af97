package onnx

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"anesim/internal/network/wire"
)

// A function is an operator that the file defines by a list of nodes.
type function struct {
	Op, Domain, Overload string
	Inputs, Outputs      []string              // names of the tensors in the nodes
	Attributes           []string              // names of attributes without defaults
	Defaults             map[string]*Attribute // values of attributes that a call omits
	Nodes                []Node
	Opsets               map[string]int64
	bytes                int // of the function in the file
}

// readFunction reads a FunctionProto from field f.
func (r *reader) readFunction(f wire.Field) (*function, error) {
	if err := f.Want(protowire.BytesType); err != nil {
		return nil, err
	}
	fn := &function{Opsets: map[string]int64{}, bytes: len(f.Body.Data)}
	var body Graph
	var defaults Node
	err := f.Body.Fields(func(f wire.Field) error {
		switch f.Num {
		case 1:
			return f.Text(&fn.Op)
		case 4:
			return r.appendName(&fn.Inputs, f)
		case 5:
			return r.appendName(&fn.Outputs, f)
		case 6:
			return r.appendName(&fn.Attributes, f)
		// Nodes of functions count with those of the graph, because calls copy them into it.
		case 7:
			if err := incrementCount(&r.nodes, maxNodes, f, "65536 nodes"); err != nil {
				return err
			}
			return r.readNode(f, &body)
		case 9:
			return readOpset(f, fn.Opsets)
		case 10:
			return f.Text(&fn.Domain)
		case 11:
			if err := incrementCount(&r.attributes, maxAttributes, f, "262144 attributes"); err != nil {
				return err
			}
			return r.readAttribute(f, &defaults)
		case 13:
			return f.Text(&fn.Overload)
		}
		return nil
	})
	fn.Nodes, fn.Defaults = body.Nodes, defaults.Attributes
	return fn, err
}

// acceptsCall reports whether the function has all inputs, outputs and attributes of a call. The nodes of
// the function would ignore others.
func (f *function) acceptsCall(call *Node) bool {
	for name := range call.Attributes {
		if f.Defaults[name] == nil && !slices.Contains(f.Attributes, name) {
			return false
		}
	}
	return len(call.Inputs) <= len(f.Inputs) && len(call.Outputs) <= len(f.Outputs)
}

// functionKey identifies the function that a node calls.
type functionKey struct{ domain, op, overload string }

// Limits on what calls add to a model. The first call of a function adds only what the file has.
const (
	maxCallBytes = 16 << 20 // of functions in the file, counted for each further call
	maxPrefix    = 64       // bytes of a call's name that become part of the names of nodes
)

// expandFunctions replaces each node that calls a function of the file by the nodes of that
// function. It leaves the call of a function that uses another version of the standard operators
// than the model, because the version of a node is that of the model, of a function that defines a
// standard operator, and a call with more than its function has.
func (m *Model) expandFunctions(functions []*function) error {
	x := &expander{functions: map[functionKey]*function{}, nodes: map[*function]int{}, used: map[string]bool{}, last: map[string]int{}, called: map[*function]bool{}}
	for _, f := range functions {
		if f.Domain != "" && f.Domain != "ai.onnx" && (f.Opsets[""] == m.Opsets[""] || f.Opsets[""] == 0) {
			x.functions[functionKey{f.Domain, f.Op, f.Overload}] = f
			x.nodes[f] = countNodes(f.Nodes)
		}
	}
	if len(x.functions) == 0 {
		return nil
	}
	x.markNames(&m.Graph)
	return x.expandGraph(&m.Graph, 0)
}

// An expander replaces calls of functions by their nodes.
type expander struct {
	functions map[functionKey]*function
	nodes     map[*function]int // number of nodes with those of branches
	called    map[*function]bool
	count     int             // of nodes of all calls so far
	bytes     int             // of the functions of all calls but the first of each
	used      map[string]bool // names of tensors in all graphs
	last      map[string]int  // number that the last new name like a name has
}

// countNodes returns the number of nodes with those of their branches.
func countNodes(nodes []Node) int {
	n := len(nodes)
	for i := range nodes {
		for _, a := range nodes[i].Attributes {
			if a.Graph != nil {
				n += countNodes(a.Graph.Nodes)
			}
		}
	}
	return n
}

// markNames adds the names of the tensors in g and its branches to x.used.
func (x *expander) markNames(g *Graph) {
	for _, v := range slices.Concat(g.Inputs, g.Outputs) {
		x.used[v.Name] = true
	}
	for name := range g.Constants {
		x.used[name] = true
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		for _, name := range slices.Concat(n.Inputs, n.Outputs) {
			x.used[name] = true
		}
		for _, a := range n.Attributes {
			if a.Graph != nil {
				x.markNames(a.Graph)
			}
		}
	}
}

// newName returns a name like the given one that no tensor has yet.
func (x *expander) newName(name string) string {
	fresh := name
	for i := max(2, x.last[name]+1); x.used[fresh]; i++ {
		fresh = fmt.Sprintf("%s/%d", name, i)
		x.last[name] = i
	}
	x.used[fresh] = true
	return fresh
}

// expandGraph replaces the calls in g and its branches. depth is the number of calls around g.
func (x *expander) expandGraph(g *Graph, depth int) error {
	nodes, err := x.expandNodes(g.Nodes, depth)
	g.Nodes = nodes
	return err
}

func (x *expander) expandNodes(nodes []Node, depth int) ([]Node, error) {
	var out []Node
	for i := range nodes {
		n := &nodes[i]
		for _, name := range slices.Sorted(maps.Keys(n.Attributes)) {
			if g := n.Attributes[name].Graph; g != nil {
				if err := x.expandGraph(g, depth); err != nil {
					return nil, err
				}
			}
		}
		f := x.functions[functionKey{n.Domain, n.Op, n.Overload}]
		if f == nil || !f.acceptsCall(n) {
			out = append(out, *n)
			continue
		}
		if depth == maxDepth {
			return nil, &FormatError{Off: n.Off, What: fmt.Sprintf("calls of functions exceed the limit of %d levels", maxDepth)}
		}
		// Functions that call each other twice grow as powers of two, so the size is counted before the
		// copy.
		if x.count += 1 + x.nodes[f]; x.count > maxNodes {
			return nil, &FormatError{Off: n.Off, What: fmt.Sprintf("calls of functions expand to more than %d nodes", maxNodes)}
		}
		// The first call is paid for by the bytes of the file.
		if x.called[f] {
			x.bytes += f.bytes
		}
		if x.called[f] = true; x.bytes > maxCallBytes {
			return nil, &FormatError{Off: n.Off, What: fmt.Sprintf("calls of functions expand to more than %d bytes", maxCallBytes)}
		}
		body, err := x.expandNodes(x.copyBody(f, n), depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, body...)
	}
	return out, nil
}

// copyBody returns the nodes of function f with the tensors and attributes of a call.
func (x *expander) copyBody(f *function, call *Node) []Node {
	names := map[string]string{}
	for i, name := range f.Inputs {
		names[name] = ""
		if i < len(call.Inputs) && name != "" {
			names[name] = call.Inputs[i]
		}
	}
	var passed []Node // outputs that are inputs of the function
	for i, name := range f.Outputs {
		if i >= len(call.Outputs) || call.Outputs[i] == "" || name == "" {
			continue
		}
		if from, ok := names[name]; ok {
			passed = append(passed, Node{Op: "Identity", Inputs: []string{from}, Outputs: call.Outputs[i : i+1], Off: call.Off})
			continue
		}
		names[name] = call.Outputs[i]
	}
	c := &bodyCopy{x, f, call}
	return append(c.copyNodes(f.Nodes, names), passed...)
}

// A bodyCopy copies the nodes of a function for a call.
type bodyCopy struct {
	*expander
	function *function
	call     *Node
}

// copyNodes returns copies of nodes, whose tensors have the names that names gives them. Names of
// other results are new.
func (c *bodyCopy) copyNodes(nodes []Node, names map[string]string) []Node {
	for i := range nodes {
		for _, name := range nodes[i].Outputs {
			if _, ok := names[name]; !ok && name != "" {
				names[name] = c.newName(name)
			}
		}
	}
	out := make([]Node, len(nodes))
	for i := range nodes {
		n := nodes[i]
		n.Inputs, n.Outputs = renameTensors(n.Inputs, names), renameTensors(n.Outputs, names)
		if c.call.Name != "" && n.Name != "" && len(c.call.Name) <= maxPrefix {
			n.Name = c.call.Name + "/" + n.Name
		}
		n.Attributes = make(map[string]*Attribute, len(n.Attributes))
		for _, name := range slices.Sorted(maps.Keys(nodes[i].Attributes)) { // in this order names are made
			a := nodes[i].Attributes[name]
			switch {
			case a.Ref != "":
				given := cmp.Or(c.call.Attributes[a.Ref], c.function.Defaults[a.Ref])
				if given == nil {
					continue // the call omits the attribute, so the node does
				}
				a = given
			case a.Graph != nil:
				branch := *a
				branch.Graph = c.copyGraph(a.Graph, names)
				a = &branch
			}
			n.Attributes[name] = a
		}
		out[i] = n
	}
	return out
}

// copyGraph returns a copy of a branch. The argument names has the names of the tensors around it.
func (c *bodyCopy) copyGraph(g *Graph, names map[string]string) *Graph {
	names = maps.Clone(names)
	out := &Graph{Name: g.Name, Constants: map[string]*Tensor{}, Known: map[string]Value{}}
	for _, v := range g.Inputs {
		names[v.Name] = c.newName(v.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(g.Constants)) {
		names[name] = c.newName(name)
		t := *g.Constants[name]
		t.Name = names[name]
		out.Constants[t.Name] = &t
	}
	// All names first: a node may read a tensor whose producer comes later in the list.
	for i := range g.Nodes {
		for _, name := range g.Nodes[i].Outputs {
			if name != "" {
				names[name] = c.newName(name)
			}
		}
	}
	rename := func(values []Value) (renamed []Value) {
		for _, v := range values {
			if name, ok := names[v.Name]; ok {
				v.Name = name
			}
			renamed = append(renamed, v)
		}
		return renamed
	}
	out.Inputs, out.Outputs = rename(g.Inputs), rename(g.Outputs)
	for _, v := range rename(slices.Collect(maps.Values(g.Known))) {
		out.Known[v.Name] = v
	}
	out.Nodes = c.copyNodes(g.Nodes, names)
	return out
}

// renameTensors returns the names that names gives to each tensor of list, or its own.
func renameTensors(list []string, names map[string]string) []string {
	out := make([]string, len(list))
	for i, name := range list {
		out[i] = name
		if to, ok := names[name]; ok {
			out[i] = to
		}
	}
	return out
}
