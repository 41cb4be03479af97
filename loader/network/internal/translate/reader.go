package translate

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"anesim/internal/network/coreml"
	"anesim/internal/network/graph"
	"anesim/internal/network/mil"
	"anesim/internal/network/onnx"
	"anesim/loader/network/list"
)

// A reader converts a program's operations to nodes of a graph with ONNX's operators, and a few of
// this package's own.
type reader struct {
	model     onnx.Model
	dir       string
	text      bool                      // positions are lines rather than bytes
	files     map[string]coreml.Weights // weights files; nil for a missing file
	read      []string                  // paths of the files that were read
	texts     map[string]string
	dims      map[string][]int64 // declared dimensions
	elems     map[string]onnx.DataType
	constants map[string]*onnx.Tensor
	packings  map[*onnx.Tensor]*graph.Packing
	bytes     int64             // size of weights read
	numbers   int               // counter of unnamed constants
	generated int               // number of channel values that were filled in
	states    map[string]string // the tensor that holds each state's present value, by input
	sources   map[string]string // the tensor that a result of read_state is a copy of
	renamed   map[string]string // names of values in the block that is being converted, by those in the file
	unrolled  int               // operations of blocks that were converted
	copies    int               // counter of converted blocks
	labels    map[string]string // probabilities by the result that is the label of a classifier
	notes     []string          // remarks for the user
}

// elemTypes maps element types to those of a graph. Elements of a few bits become bytes.
var elemTypes = map[mil.Elem]onnx.DataType{
	"fp16": onnx.Float16, "fp32": onnx.Float, "fp64": onnx.Double, "bf16": onnx.BFloat16, "bool": onnx.Bool, "string": onnx.String,
	"int8": onnx.Int8, "int16": onnx.Int16, "int32": onnx.Int32, "int64": onnx.Int64, "int4": onnx.Int8,
	"uint8": onnx.Uint8, "uint16": onnx.Uint16, "uint32": onnx.Uint32, "uint64": onnx.Uint64,
	"uint1": onnx.Uint8, "uint2": onnx.Uint8, "uint3": onnx.Uint8, "uint4": onnx.Uint8, "uint6": onnx.Uint8,
}

// A Graph is a Core ML program after its conversion to an ONNX model.
type Graph struct {
	Model    onnx.Model
	Packings map[*onnx.Tensor]*graph.Packing // of packed constants
	Bytes    int64                           // size of weights read
	Files    []string                        // paths of the files that the weights were read from
	Notes    []string                        // remarks for the user
}

// Function converts f, a function of a program, to an ONNX model, which may use a few operators that ONNX
// does not have. Weights are read from files in dir, or stay absent if dir is "". The error is a
// *[list.FormatError]. text says whether f was read from text; the position in the error is then a
// line number rather than a byte offset.
func Function(f *mil.Function, dir string, text bool) (*Graph, error) {
	const opset = 20
	r := &reader{
		dir: dir, text: text, files: map[string]coreml.Weights{}, texts: map[string]string{}, dims: map[string][]int64{},
		elems: map[string]onnx.DataType{}, constants: map[string]*onnx.Tensor{}, packings: map[*onnx.Tensor]*graph.Packing{},
		states: map[string]string{}, sources: map[string]string{}, labels: map[string]string{},
	}
	r.model.Opsets = map[string]int64{"": opset}
	r.model.Constants, r.model.Known = map[string]*onnx.Tensor{}, map[string]onnx.Value{}
	for _, in := range f.Inputs {
		v := r.declareValue(in)
		if s := f.Shapes[in.Name]; s != nil {
			v.Shapes = (*graph.Shapes)(s)
		}
		r.model.Inputs = append(r.model.Inputs, v)
		if in.Type.Kind == mil.State {
			r.states[in.Name] = in.Name
		}
	}
	for i := range f.Operations {
		if err := r.translateOperation(&f.Operations[i]); err != nil {
			return nil, err
		}
	}
	for _, out := range f.Outputs {
		// The label of a classifier is a string, which the network does not compute. Its probabilities
		// become the output instead, unless they are one already.
		if all, ok := r.labels[out]; ok {
			if slices.Contains(f.Outputs, all) {
				continue
			}
			out = all
		}
		v := onnx.Value{Name: out, Type: r.elems[out]}
		r.model.Outputs = append(r.model.Outputs, v)
	}
	r.connectStates()
	return &Graph{r.model, r.packings, r.bytes, r.read, r.notes}, nil
}

// declareValue records the element type and the shape that the program declares for value v.
func (r *reader) declareValue(v mil.Var) onnx.Value {
	x := onnx.Value{Name: v.Name, Type: elemTypes[v.Type.Elem], Dims: []onnx.Dim{}}
	for _, d := range v.Type.Dims {
		x.Dims = append(x.Dims, onnx.Dim{Size: max(0, d)})
	}
	r.dims[v.Name], r.elems[v.Name] = v.Type.Dims, x.Type
	r.model.Known[v.Name] = x
	return x
}

func (r *reader) newOperationError(op *mil.Operation, format string, v ...any) error {
	f := &list.FormatError{What: fmt.Sprintf(format, v...)}
	if r.text {
		f.Line = int(op.Off)
	} else {
		f.Off = op.Off
	}
	return f
}

// checkNodes returns an error if the graph has no room for another node.
func (r *reader) checkNodes(op *mil.Operation) error {
	if len(r.model.Nodes) >= list.MaxLayers {
		return r.newOperationError(op, "converted program exceeds the limit of %d nodes", list.MaxLayers)
	}
	return nil
}

// translateOperation converts one operation to nodes or to a constant.
func (r *reader) translateOperation(op *mil.Operation) error {
	for _, out := range op.Outputs {
		r.declareValue(out)
	}
	if op.Type == "const" {
		v, ok := op.Attributes["val"]
		if !ok && len(op.Inputs["val"]) == 1 {
			v, ok = op.Inputs["val"][0].Value, true
		}
		if !ok || len(op.Outputs) != 1 {
			return r.newOperationError(op, `invalid const operation; want one "val" value and one result`)
		}
		if err := r.addConstant(op.Outputs[0].Name, v); err != nil {
			return r.newOperationError(op, "%s: %v", op.Outputs[0].Name, err)
		}
		return nil
	}
	switch {
	case op.Writes:
		return r.newOperationError(op, "%s: write_state in a block; want it in the function itself", op.Type)
	case op.Type == "read_state":
		return r.readState(op)
	case op.Type == "write_state":
		return r.writeState(op)
	case len(op.Outputs) == 0:
		return r.newOperationError(op, "operation %q has no result", op.Type)
	}
	if err := r.checkNodes(op); err != nil {
		return err
	}
	x := &operation{reader: r, Operation: op, read: map[string]bool{}}
	if v := op.Attributes["name"]; len(v.Strings) == 1 {
		x.name = v.Strings[0]
	}
	x.name = cmp.Or(x.name, op.Outputs[0].Name)
	f, ok := operations[op.Type]
	if len(op.Blocks) > 0 {
		return x.translateControl()
	}
	if ok {
		// A function that fails may have emitted nodes already. They are removed, and the operation
		// becomes one unknown node with the reason.
		first, fixed := len(r.model.Nodes), x.err
		f(x)
		// An argument that the function did not read may change the meaning of the operation.
		if x.checkReads(); x.err == fixed {
			return nil
		}
		r.model.Nodes = r.model.Nodes[:first]
	}
	x.emitUnknownOperation()
	return nil
}

// addConstant adds a constant with the given name and value. Its elements are absent if the file
// that stores them does not exist.
func (r *reader) addConstant(name string, v mil.Value) error {
	if v.Type.Kind != mil.Tensor {
		return nil // lists and dictionaries are not used in computations
	}
	if v.Type.Elem == "string" {
		if len(v.Strings) == 1 {
			r.texts[name] = v.Strings[0]
		}
		return nil
	}
	elem, ok := elemTypes[v.Type.Elem]
	n := v.Type.Elements()
	if !ok {
		return fmt.Errorf("unsupported element type %q", string(v.Type.Elem))
	}
	if len(v.Type.Dims) > graph.MaxRank {
		return fmt.Errorf("shape %v has %d axes; want at most %d", v.Type.Dims, len(v.Type.Dims), graph.MaxRank)
	}
	if n < 0 {
		return fmt.Errorf("shape %v has an unknown dimension or more than 2^31 elements", v.Type.Dims)
	}
	raw := v.Data
	t := onnx.NewTensor(name, elem, v.Type.Dims, raw)
	if v.File != "" {
		w, err := r.openWeights(v.File)
		if err != nil {
			return err
		}
		if w == nil {
			t.File = &onnx.External{Location: v.File, Length: -1}
		} else {
			// Constants may share bytes of the file, but all together may not exceed a few times its size.
			if r.bytes += int64(n) * int64(elem.Width()); r.bytes > 4*int64(len(w))+1<<20 {
				return fmt.Errorf("constants need at least %d bytes; want at most %d for a weights file of this size", r.bytes, 4*int64(len(w))+1<<20)
			}
			if raw, err = w.Values(v.Offset, v.Type.Elem, n); err != nil {
				return err
			}
		}
	}
	if v.Type.Elem == "int4" {
		// The bytes belong to the file, of which other constants may use the same.
		raw = slices.Clone(raw)
		for i, b := range raw {
			raw[i] = byte(int8(b<<4) >> 4)
		}
	}
	if !t.External() {
		t.Attach(raw)
		if err := t.CheckValues(); err != nil {
			return err
		}
	}
	r.model.Constants[name] = t
	r.constants[name] = t
	r.dims[name], r.elems[name] = v.Type.Dims, elem
	return nil
}

// openWeights returns the content of a weights file, which it reads once. name is a path in the
// model's directory. openWeights returns nil if the file does not exist.
func (r *reader) openWeights(name string) (coreml.Weights, error) {
	if w, ok := r.files[name]; ok {
		return w, nil
	}
	r.files[name] = nil
	if r.dir == "" {
		return nil, nil
	}
	root, err := os.OpenRoot(r.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	path := strings.TrimPrefix(name, "@model_path/")
	if !fs.ValidPath(path) {
		return nil, fmt.Errorf("invalid path %q; want a path within the model's directory", name)
	}
	w, err := coreml.ReadFile(root.FS(), path, coreml.MaxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	r.files[name], r.read = w, append(r.read, filepath.Join(r.dir, filepath.FromSlash(path)))
	return w, err
}
