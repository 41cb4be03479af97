package mil

import "slices"

// A Program is functions, of which main is the model.
type Program struct {
	Version   string
	Functions []Function
}

// Main is the function that a model runs: main, or the only one.
func (p *Program) Main() (*Function, bool) {
	at := slices.IndexFunc(p.Functions, func(f Function) bool { return f.Name == "main" })
	if at < 0 && len(p.Functions) == 1 {
		at = 0
	}
	if at < 0 {
		return nil, false
	}
	return &p.Functions[at], true
}

// A Function is operations between inputs and outputs.
type Function struct {
	Name, Opset string
	Inputs      []Var
	Operations  []Operation
	Outputs     []string
}

// A Var is a value by name.
type Var struct {
	Name string
	Type Type
}

// An Operation makes values of others.
type Operation struct {
	Type       string
	Inputs     map[string][]Argument
	Attributes map[string]Value
	Outputs    []Var
	Blocks     int   // blocks of operations within, which are not read
	Off        int64 // byte of a message, or line of a text
}

// An Argument is the name of a value, or a value itself where the name is "".
type Argument struct {
	Name  string
	Value Value
}

// A Kind is what a type is made of.
type Kind uint8

// The kinds of types; those but tensors are not worked on.
const (
	Tensor Kind = iota // a scalar is one without dimensions
	List
	Tuple
	Dictionary
	State
)

// An Elem is the type of a tensor's elements, as a text spells it.
type Elem string

// Bits is the size of an element, 0 for text and what is not known.
func (e Elem) Bits() int {
	switch e {
	case "fp64", "int64", "uint64":
		return 64
	case "fp32", "int32", "uint32":
		return 32
	case "fp16", "bf16", "int16", "uint16":
		return 16
	case "int8", "uint8", "bool":
		return 8
	case "uint6":
		return 6
	case "int4", "uint4":
		return 4
	case "uint3":
		return 3
	case "uint2":
		return 2
	case "uint1":
		return 1
	}
	return 0
}

// A Type is a value's type.
type Type struct {
	Kind Kind
	Elem Elem
	Dims []int64 // -1 where a size is not known
}

// Elements is the number of elements, -1 where it is not known or beyond what is read.
func (t Type) Elements() int {
	n := int64(1)
	for _, d := range t.Dims {
		if d < 0 || d > 0 && n > maxElements/d {
			return -1
		}
		n *= d
	}
	return int(n)
}

// A Value is a constant.
type Value struct {
	Type    Type
	Data    []byte // elements, little-endian, those of less than a byte in a byte each
	Strings []string
	Values  []Value // of a list or a tuple
	File    string  // where the elements stand, "" for here
	Offset  uint64
}

// Bounds on what is read.
const (
	maxElements   = 1 << 31
	maxOperations = 1 << 16
	maxArguments  = 1 << 20
	maxRank       = 16
	maxDepth      = 32 // values and types within others
)
