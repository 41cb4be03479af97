package network

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"anesim/internal/network/coreml"
	"anesim/internal/network/graph"
	"anesim/internal/network/mil"
	"anesim/internal/network/wire"
	"anesim/loader/network/internal/neural"
	"anesim/loader/network/internal/translate"
	"anesim/loader/network/list"
)

// maxProgramText is the size of the longest program text that is read.
const maxProgramText = 64 << 20

// ReadMIL reads a network from the text of a MIL program, such as the file model.mil of a compiled
// Core ML model. Weights are read from files in o.Dir. ReadMIL returns a *[DimError] if a dimension
// has no size or o.Dims has an unknown name, and a *[list.FormatError] if the text is malformed.
func ReadMIL(data []byte, o Options) (*list.Network, error) {
	if len(data) > maxProgramText {
		return nil, &list.FormatError{Line: 1, What: fmt.Sprintf("file has %d bytes; want at most %d", len(data), maxProgramText)}
	}
	p, err := mil.Parse(string(data))
	if err != nil {
		f := &list.FormatError{Line: 1, What: err.Error(), Err: err}
		var e *mil.SyntaxError
		if errors.As(err, &e) {
			f.Line, f.What = e.Line, e.What
		}
		return nil, f
	}
	f, note, err := chooseFunction(p, "", o.Function)
	if err != nil {
		return nil, err
	}
	g, err := translate.Function(f, o.Dir, true)
	if err != nil {
		return nil, err
	}
	return readTranslated(g, len(data), note, o)
}

// ReadCoreML reads a network from the content of a Core ML model, an .mlmodel file. Weights are
// read from files in o.Dir. ReadCoreML returns a *[DimError] if a dimension has no size or o.Dims
// has an unknown name, and a *[list.FormatError] if the file is malformed.
func ReadCoreML(data []byte, o Options) (*list.Network, error) {
	m, err := coreml.Read(data)
	if err != nil {
		f := &list.FormatError{Off: -1, What: err.Error(), Err: err}
		var e *wire.FormatError
		if errors.As(err, &e) {
			f.Off, f.What = e.Off, e.What
		}
		return nil, f
	}
	if m.Layers != nil {
		return readLayers(m, len(data), o)
	}
	fn, note, err := chooseFunction(m.Program, m.Default, o.Function)
	if err != nil {
		return nil, err
	}
	// A model with several functions describes the inputs of each; one with a single function describes
	// them for the model.
	inputs := m.Inputs
	for i := range m.Functions {
		if m.Functions[i].Name == fn.Name {
			inputs = m.Functions[i].Inputs
		}
	}
	g, err := translate.Function(fn, o.Dir, false)
	if err != nil {
		return nil, err
	}
	for i := range g.Model.Inputs {
		for k := range inputs {
			if inputs[k].Name == g.Model.Inputs[i].Name {
				// Ranges of shapes are stated in the model's description, not in the program.
				setShapes(&g.Model.Inputs[i], &inputs[k])
			}
		}
	}
	n, err := readTranslated(g, len(data), note, o)
	if err != nil {
		return nil, err
	}
	setInputTypes(n, inputs)
	return n, nil
}

// setShapes gives an input of a program without fixed dimensions the shapes that the model's description
// allows. An image has a height and a width there, and the other axes only in the program.
func setShapes(in *graph.Port, described *coreml.Feature) {
	s := described.Shapes
	if s == nil && len(described.Dims) > 0 { // a description of a single shape
		s = &mil.Shapes{Default: described.Dims, Listed: [][]int64{described.Dims}}
	}
	if s == nil || !slices.ContainsFunc(in.Dims, func(d graph.Dim) bool { return d.Size <= 0 }) {
		return
	}
	in.Shapes = &graph.Shapes{Default: s.Default, Listed: s.Listed, Ranges: s.Ranges}
	if described.Type != "image" || len(in.Dims) < 2 {
		return
	}
	before := len(in.Dims) - 2
	var prefix []int64
	for _, d := range in.Dims[:before] {
		prefix = append(prefix, max(1, d.Size))
	}
	all := &graph.Shapes{Default: slices.Concat(prefix, s.Default)}
	for _, shape := range s.Listed {
		all.Listed = append(all.Listed, slices.Concat(prefix, shape))
	}
	if len(s.Ranges) > 0 {
		for _, d := range prefix {
			all.Ranges = append(all.Ranges, [2]int64{d, d})
		}
		all.Ranges = append(all.Ranges, s.Ranges...)
	}
	in.Shapes = all
}

// A FunctionError reports that a program has no function with the given name or, if Name is "", that it
// has several functions and does not say which of them to use.
type FunctionError struct {
	Name  string
	Known []string // functions of the program
}

func (e *FunctionError) Error() string {
	known := strings.Join(e.Known[:min(len(e.Known), maxNames)], ", ")
	switch {
	case len(e.Known) == 0:
		return fmt.Sprintf("no function %q: only a program of Core ML has functions", e.Name)
	case e.Name == "":
		return list.OneLine.Replace(fmt.Sprintf("program has the functions %s; want the name of one of them", known))
	}
	return list.OneLine.Replace(fmt.Sprintf("no function %q; the program has %s", e.Name, known))
}

// chooseFunction returns the function of p with the given name or, if that is "", the one that the file
// suggests, called main or the only one. note says which others there are.
func chooseFunction(p *mil.Program, suggested, name string) (f *mil.Function, note string, err error) {
	failed := &FunctionError{Name: name}
	for i := range p.Functions {
		failed.Known = append(failed.Known, p.Functions[i].Name)
	}
	ok := false
	if name != "" {
		f, ok = p.Find(name)
	} else if f, ok = p.Find(suggested); !ok {
		f, ok = p.Main()
	}
	switch {
	case len(p.Functions) == 0:
		return nil, "", &list.FormatError{Off: -1, What: "program has no function"}
	case !ok:
		return nil, "", failed
	case len(p.Functions) > 1:
		note = fmt.Sprintf("this is function %q of %d: %s (--function)", f.Name, len(p.Functions), strings.Join(failed.Known[:min(len(failed.Known), maxNames)], ", "))
	}
	return f, note, nil
}

// readLayers reads the network of layers of m, whose file has size bytes.
func readLayers(m *coreml.Model, size int, o Options) (*list.Network, error) {
	if o.Function != "" {
		return nil, &FunctionError{Name: o.Function}
	}
	var err error
	if o.Dims, err = chooseShapes(m.Inputs, o.Dims); err != nil {
		return nil, err
	}
	g, err := neural.Read(m)
	if err != nil {
		return nil, toFormatError(err)
	}
	n, err := readGraph(g, size, nil, o)
	if err != nil {
		return nil, err
	}
	setInputTypes(n, m.Inputs)
	return n, nil
}

// chooseShapes gives inputs of a network of layers that may have several shapes the sizes that the user chose.
// It returns the sizes for other dimensions.
func chooseShapes(inputs []coreml.Feature, sizes map[string]int) (map[string]int, error) {
	rest := maps.Clone(sizes)
	for i := range inputs {
		in := &inputs[i]
		if len(in.Dims) == 0 && in.Type != "image" { // an array of any shape
			in.Dims = make([]int64, countGivenAxes(in.Name, sizes))
			in.Shapes = &mil.Shapes{}
		}
		if in.Shapes == nil {
			continue
		}
		in.Dims = slices.Clone(in.Dims)
		dims := make([]int, len(in.Dims))
		for axis := range in.Dims {
			name := fmt.Sprintf("%s:%d", in.Name, axis)
			if size, ok := sizes[name]; ok {
				in.Dims[axis] = int64(size)
				delete(rest, name)
			}
			dims[axis] = int(max(-1, min(list.MaxExtent+1, in.Dims[axis])))
		}
		if s := (*graph.Shapes)(in.Shapes); !s.Allow(dims) {
			return nil, &ShapeError{in.Name, dims, s}
		}
	}
	return rest, nil
}

// openPackage reads a network from the .mlpackage at path.
func openPackage(path string, o Options) (*list.Network, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	model, err := coreml.ModelPath(root.FS())
	if err != nil {
		return nil, &list.FormatError{Off: -1, What: err.Error(), Err: err}
	}
	data, err := coreml.ReadFile(root.FS(), model, coreml.MaxBytes)
	if err != nil {
		return nil, err
	}
	o.Dir = filepath.Join(path, filepath.FromSlash(filepath.ToSlash(filepath.Dir(model))))
	n, err := ReadCoreML(data, o)
	if err != nil {
		return nil, err
	}
	n.Files = append(n.Files, filepath.Join(path, coreml.Manifest), filepath.Join(path, filepath.FromSlash(model)))
	return n, nil
}

// readTranslated reads a network from a program that was converted to a graph. Its file has size bytes.
// note is a remark for the user, or "".
func readTranslated(g *translate.Graph, size int, note string, o Options) (*list.Network, error) {
	n, err := readModel(&g.Model, g.Packings, size+int(min(g.Bytes, 1<<30)), o)
	if err != nil {
		return nil, err
	}
	n.Files = append(n.Files, g.Files...)
	if note != "" {
		n.Notes = append([]string{note}, n.Notes...)
	}
	n.Notes = append(n.Notes, g.Notes...)
	return n, nil
}

// setInputTypes gives the inputs of n the types that the user of a model sees, such as "image".
func setInputTypes(n *list.Network, inputs []coreml.Feature) {
	for i := range n.Inputs {
		for _, x := range inputs {
			if x.Name == n.Inputs[i].Name && x.Type != "" {
				n.Inputs[i].Type = x.Type
			}
		}
	}
}
