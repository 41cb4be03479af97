package mil

import "slices"

// A Program is a program in MIL, the intermediate language of Core ML. It is a list of functions.
// [Program.Main] returns the one that computes the model.
type Program struct {
	Version   string
	Functions []Function
}

// Main returns the function that computes the model: the one called main, or the only function of
// the program. The second result is false if there is no such function.
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

// Find returns the function with the given name.
func (p *Program) Find(name string) (*Function, bool) {
	at := slices.IndexFunc(p.Functions, func(f Function) bool { return f.Name == name })
	if at < 0 {
		return nil, false
	}
	return &p.Functions[at], true
}

// A Function is a list of operations in execution order, with the function's inputs and the names
// of its results.
type Function struct {
	Name, Opset string
	Inputs      []Var
	Operations  []Operation
	Outputs     []string
	// Shapes holds the shapes that inputs with unknown sizes may have, by the name of the input.
	Shapes map[string]*Shapes
}

// Shapes describes the shapes that an input with unknown sizes may have. A program lists them, or
// gives a range for each axis, or neither.
type Shapes struct {
	Default []int64    // used if the user chooses none; may be nil
	Listed  [][]int64  // all allowed shapes, or nil
	Ranges  [][2]int64 // least and largest extent along each axis, or nil; -1 for no limit
}

// A Var is a named value of a program, such as the result of an operation, and its type.
type Var struct {
	Name string
	Type Type
}

// An Operation is one step of a function. It computes its outputs from named arguments and
// attributes.
type Operation struct {
	Type       string
	Inputs     map[string][]Argument
	Attributes map[string]Value
	Outputs    []Var
	Blocks     []Block
	Writes     bool  // whether an operation in a nested block writes a state
	Off        int64 // byte offset in a message, or line of a text
}

// A Block is a list of operations within an operation, such as the body of a loop. Its operations also read
// values from around it.
type Block struct {
	Inputs     []Var
	Operations []Operation
	Outputs    []string
}

// An Argument is a value that an operation reads: the input or earlier result called Name or, if
// Name is "", the constant Value.
type Argument struct {
	Name  string
	Value Value
}

// A Kind is the kind of value that a type describes, such as a tensor or a list.
type Kind uint8

// The kinds of types. A value of any other kind than Tensor is read, but cannot be used in a layer.
const (
	Tensor Kind = iota // a scalar is a tensor without dimensions
	List
	Tuple
	Dictionary
	State
)

// An Elem is the name of an element type, such as "fp16" or "int32".
type Elem string

// Bits returns the size of an element in bits, or 0 for strings and for unknown types.
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

// A Type is the type of a value: a tensor with an element type and a shape, or a compound of
// other values.
type Type struct {
	Kind Kind
	Elem Elem
	Dims []int64 // -1 for an unknown size
}

// Elements returns the number of elements of a tensor of type t. It returns -1 if a dimension is
// unknown or there are more than 2^31 elements.
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

// A Value is a constant in a program: a tensor, or a list or tuple of other constants.
type Value struct {
	Type    Type
	Data    []byte // elements, little-endian; elements of less than a byte take a byte each
	Strings []string
	Values  []Value // of a list or a tuple
	File    string  // file that stores the elements, "" if Data holds them
	Offset  uint64  // of the elements' record in File
}

// Limits on the size of a program.
const (
	maxElements   = 1 << 31
	maxOperations = 1 << 16
	maxArguments  = 1 << 20
	maxRank       = 16
	maxDepth      = 32 // nesting of values and of types
)
