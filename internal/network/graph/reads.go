package graph

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Files state inputs and attributes that a rule may not know: those of a newer version of an
// operator, of another runtime, or made up. A rule that ignores one of them computes something
// else than the file says. Every method of [Node] that hands out the values of an input or an
// attribute therefore notes that it was asked for, and [Node.Apply] refuses a node of which
// something was left.

// reads holds a set of inputs and attributes of a node.
type reads struct {
	inputs     uint64 // bit i stands for input i, and the highest bit for all inputs from there
	attributes []string
}

const lastInput = 63

func (r *reads) addInput(i int) { r.inputs |= 1 << min(i, lastInput) }

func (r *reads) addAttribute(name string) {
	if !slices.Contains(r.attributes, name) {
		// Copies of a node share the list, so it never grows in place.
		r.attributes = append(slices.Clip(r.attributes), name)
	}
}

func (r *reads) hasInput(i int) bool { return r.inputs>>min(i, lastInput)&1 != 0 }

// An UnreadError reports an input or attribute of a node that no rule asked for, so that the
// node is not modelled.
type UnreadError struct {
	Operator string
	What     string // such as `attribute "mode"`
}

func (e *UnreadError) Error() string {
	return fmt.Sprintf("%s of operator %s is not modelled", e.What, e.Operator)
}

// Apply calls rule, which computes the node, and returns its error. If rule succeeds, but neither
// it nor the rule for the node's shapes asked for all inputs and attributes that the node has,
// Apply returns an *[UnreadError]. Reads of earlier rules do not count, because these rules may
// have failed.
func (n *Node) Apply(rule func() error) error {
	n.BeginReading()
	if err := rule(); err != nil {
		return err
	}
	return n.Unread()
}

// BeginReading forgets all reads but those of the rule for shapes.
func (n *Node) BeginReading() { n.read = reads{} }

// InferShapes calls rule, the rule for the node's shapes. Its reads count for every later rule,
// which works with these shapes.
func (n *Node) InferShapes(rule func()) {
	before := n.read
	n.read = reads{}
	rule()
	n.shaped, n.read = n.read, before
}

// Before operator set 6, most operators had the attribute oldHint, a list of inputs that a runtime
// may overwrite.
const oldHint = "consumed_inputs"

// Unread returns an *[UnreadError] for the first attribute or input of the node that was not
// asked for, or nil. Attributes whose names begin with two underscores are notes of a runtime to
// itself, which ONNX's own checker skips too.
func (n *Node) Unread() error {
	for _, name := range slices.Sorted(maps.Keys(n.Attr)) {
		if strings.HasPrefix(name, "__") || name == oldHint && n.Opset < 6 {
			continue
		}
		if !slices.Contains(n.read.attributes, name) && !slices.Contains(n.shaped.attributes, name) {
			return &UnreadError{n.Operator(), fmt.Sprintf("attribute %q", name)}
		}
	}
	for i, v := range n.In {
		if v.Given() && !n.read.hasInput(i) && !n.shaped.hasInput(i) {
			return &UnreadError{n.Operator(), fmt.Sprintf("input %d (%q)", i, v.Name)}
		}
	}
	return nil
}

// Input returns input i. It returns a tensor without a name if the input is omitted or the node
// has no input i.
func (n *Node) Input(i int) *Value {
	if !n.Given(i) {
		return &Value{}
	}
	n.read.addInput(i)
	return n.In[i]
}

// AllInputs returns all inputs, which the caller must not change.
func (n *Node) AllInputs() []*Value {
	for i := range n.In {
		n.read.addInput(i)
	}
	return n.In
}

// Attribute returns the attribute with the given name, or nil if the node does not have it.
func (n *Node) Attribute(name string) *Attr {
	n.read.addAttribute(name)
	return n.Attr[name]
}

// AllAttributes returns all attributes, which the caller must not change.
func (n *Node) AllAttributes() map[string]*Attr {
	for name := range n.Attr {
		n.read.addAttribute(name)
	}
	return n.Attr
}

// Accept notes that the integer attribute changes nothing if it has the given value, the
// operator's default. With any other value it stays unread, and [Node.Apply] refuses the node.
func (n *Node) Accept(name string, value int64) {
	if a := n.Attr[name]; a != nil && a.Int == value {
		n.read.addAttribute(name)
	}
}

// Ignore notes that the given attributes do not change the results of an inference.
func (n *Node) Ignore(names ...string) {
	for _, name := range names {
		n.read.addAttribute(name)
	}
}
