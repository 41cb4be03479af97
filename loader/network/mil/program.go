package mil

import "slices"

// A Program is a list of functions. The function main is the model.
type Program struct {
	Version   string
	Functions []Function
}

// Main returns the function that a model runs: main, or the only one. It returns false if there
// is no such function.
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

// A Function is a list of operations with inputs and outputs.
type Function struct {
	Name, Opset string
	Inputs      []Var
	Operations  []Operation
	Outputs     []string
}

// A Var is a named value.
type Var struct {
	Name string
	Type Type
}

// An Operation computes values from other values.
type Operation struct {
	Type       string
	Inputs     map[string][]Argument
	Attributes map[string]Value
	Outputs    []Var
	Blocks     int   // number of nested blocks, whose operations are not read
	Off        int64 // byte offset in a message, or line of a text
}

// An Argument is the name of a value or, if Name is "", the value itself.
type Argument struct {
	Name  string
	Value Value
}

// A Kind is the kind of a type.
type Kind uint8

// The kinds of types. Only tensors are converted.
const (
	Tensor Kind = iota // a scalar is a tensor without dimensions
	List
	Tuple
	Dictionary
	State
)

// An Elem is the element type of a tensor, such as "fp16".
type Elem string

// Bits returns the size of an element, or 0 for strings and unknown types.
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

// A Type is the type of a value.
type Type struct {
	Kind Kind
	Elem Elem
	Dims []int64 // -1 for an unknown size
}

// Elements returns the number of elements. It is -1 if a size is unknown or the product exceeds
// the limit.
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
	Data    []byte // elements, little-endian; elements of less than a byte take a byte each
	Strings []string
	Values  []Value // of a list or a tuple
	File    string  // file that stores the elements, "" if Data holds them
	Offset  uint64
}

// Limits on the size of a program.
const (
	maxElements   = 1 << 31
	maxOperations = 1 << 16
	maxArguments  = 1 << 20
	maxRank       = 16
	maxDepth      = 32 // nesting of values and of types
)
