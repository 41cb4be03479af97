package translate

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"anesim/loader/network/coreml"
	"anesim/loader/network/graph"
	"anesim/loader/network/list"
	"anesim/loader/network/mil"
	"anesim/loader/network/onnx"
)

// A reader states a program's operations as nodes of a graph, whose operators are
// those of ONNX and a few of this package's own.
type reader struct {
	model    onnx.Model
	dir      string
	text     bool                      // places are lines
	files    map[string]coreml.Weights // of weights; nil for one that is not there
	texts    map[string]string
	dims     map[string][]int64 // as declared
	elems    map[string]onnx.DataType
	fixed    map[string]*onnx.Tensor
	packings map[*onnx.Tensor]*graph.Packing
	bytes    int64 // of weights
	numbers  int   // of constants without a name
	made     int   // values of channels that the file leaves out
}

// elemTypes are the types of elements as a graph has them; those of a few bits are bytes.
var elemTypes = map[mil.Elem]onnx.DataType{
	"fp16": onnx.Float16, "fp32": onnx.Float, "fp64": onnx.Double, "bf16": onnx.BFloat16, "bool": onnx.Bool, "string": onnx.String,
	"int8": onnx.Int8, "int16": onnx.Int16, "int32": onnx.Int32, "int64": onnx.Int64, "int4": onnx.Int8,
	"uint8": onnx.Uint8, "uint16": onnx.Uint16, "uint32": onnx.Uint32, "uint64": onnx.Uint64,
	"uint1": onnx.Uint8, "uint2": onnx.Uint8, "uint3": onnx.Uint8, "uint4": onnx.Uint8, "uint6": onnx.Uint8,
}

// A Graph is a program as a graph.
type Graph struct {
	Model    onnx.Model
	Packings map[*onnx.Tensor]*graph.Packing // of constants that the program has packed
	Bytes    int64                           // of weights
}

// Program states a program's main function as a graph, whose operators are those of ONNX and a
// few of this package's own. Weights are read from dir, unless it is "". The places of errors,
// which are a *[list.FormatError], are lines of a text or bytes.
func Program(p *mil.Program, dir string, text bool) (*Graph, error) {
	f, ok := p.Main()
	if !ok {
		return nil, &list.FormatError{Line: int(graph.Truth(text)), What: "the program has no function main"}
	}
	const opset = 20
	r := &reader{
		dir: dir, text: text, files: map[string]coreml.Weights{}, texts: map[string]string{}, dims: map[string][]int64{},
		elems: map[string]onnx.DataType{}, fixed: map[string]*onnx.Tensor{}, packings: map[*onnx.Tensor]*graph.Packing{},
	}
	r.model.Opsets = map[string]int64{"": opset}
	r.model.Constants, r.model.Known = map[string]*onnx.Tensor{}, map[string]onnx.Value{}
	for _, in := range f.Inputs {
		r.model.Inputs = append(r.model.Inputs, r.declare(in))
	}
	for i := range f.Operations {
		if err := r.operation(&f.Operations[i]); err != nil {
			return nil, err
		}
	}
	for _, out := range f.Outputs {
		v := onnx.Value{Name: out, Type: r.elems[out]}
		r.model.Outputs = append(r.model.Outputs, v)
	}
	return &Graph{r.model, r.packings, r.bytes}, nil
}

// declare notes a value's type.
func (r *reader) declare(v mil.Var) onnx.Value {
	x := onnx.Value{Name: v.Name, Type: elemTypes[v.Type.Elem], Dims: []onnx.Dim{}}
	for _, d := range v.Type.Dims {
		x.Dims = append(x.Dims, onnx.Dim{Size: max(0, d)})
	}
	r.dims[v.Name], r.elems[v.Name] = v.Type.Dims, x.Type
	r.model.Known[v.Name] = x
	return x
}

func (r *reader) at(op *mil.Operation, format string, v ...any) error {
	f := &list.FormatError{What: fmt.Sprintf(format, v...)}
	if r.text {
		f.Line = int(op.Off)
	} else {
		f.Off = op.Off
	}
	return f
}

// operation states one operation.
func (r *reader) operation(op *mil.Operation) error {
	for _, out := range op.Outputs {
		r.declare(out)
	}
	if op.Type == "const" {
		v, ok := op.Attributes["val"]
		if !ok && len(op.Inputs["val"]) == 1 {
			v, ok = op.Inputs["val"][0].Value, true
		}
		if !ok || len(op.Outputs) != 1 {
			return r.at(op, "a constant without a value")
		}
		if err := r.constant(op.Outputs[0].Name, v); err != nil {
			return r.at(op, "%s: %v", op.Outputs[0].Name, err)
		}
		return nil
	}
	if len(op.Outputs) == 0 {
		return r.at(op, "%s makes nothing", op.Type)
	}
	if len(r.model.Nodes) >= list.MaxLayers {
		return r.at(op, "more than %d nodes", list.MaxLayers)
	}
	x := &operation{reader: r, Operation: op}
	if v := op.Attributes["name"]; len(v.Strings) == 1 {
		x.name = v.Strings[0]
	}
	x.name = cmp.Or(x.name, op.Outputs[0].Name)
	f, ok := operations[op.Type]
	if op.Blocks > 0 {
		ok = false
	}
	if ok {
		first, fixed := len(r.model.Nodes), x.err
		if f(x); x.err == fixed {
			return nil
		}
		r.model.Nodes = r.model.Nodes[:first]
	}
	x.unknown()
	return nil
}

// constant keeps a value under a name. Values in a file that is not there are absent.
func (r *reader) constant(name string, v mil.Value) error {
	if v.Type.Kind != mil.Tensor {
		return nil // lists and dictionaries are nothing to compute with
	}
	if v.Type.Elem == "string" {
		if len(v.Strings) == 1 {
			r.texts[name] = v.Strings[0]
		}
		return nil
	}
	elem, ok := elemTypes[v.Type.Elem]
	n := v.Type.Elements()
	if !ok || n < 0 || len(v.Type.Dims) > graph.MaxRank {
		return fmt.Errorf("%s of %v", v.Type.Elem, v.Type.Dims)
	}
	raw := v.Data
	t := onnx.NewTensor(name, elem, v.Type.Dims, raw)
	if v.File != "" {
		w, err := r.weights(v.File)
		if err != nil {
			return err
		}
		if w == nil {
			t.File = &onnx.External{Location: v.File, Length: -1}
		} else {
			if r.bytes += int64(n) * int64(elem.Width()); r.bytes > 4*int64(len(w))+1<<20 {
				return errors.New("more values than four times the file of weights")
			}
			if raw, err = w.Values(v.Offset, v.Type.Elem, n); err != nil {
				return err
			}
		}
	}
	if v.Type.Elem == "int4" {
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
	r.fixed[name] = t
	r.dims[name], r.elems[name] = v.Type.Dims, elem
	return nil
}

// weights reads a file of weights, once. A path begins at the model's directory.
func (r *reader) weights(name string) (coreml.Weights, error) {
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
		return nil, fmt.Errorf("%q is no path within the model's directory", name)
	}
	w, err := coreml.ReadFile(root.FS(), path, coreml.MaxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	r.files[name] = w
	return w, err
}
