package network

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"anesim/loader/network/coreml"
	"anesim/loader/network/list"
	"anesim/loader/network/mil"
	"anesim/loader/network/neural"
	"anesim/loader/network/translate"
	"anesim/loader/network/wire"
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
	return readProgram(p, nil, len(data), true, o)
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
	return readProgram(m.Program, m, len(data), false, o)
}

// readLayers reads the network of layers of m, whose file has size bytes.
func readLayers(m *coreml.Model, size int, o Options) (*list.Network, error) {
	g, err := neural.Read(m)
	if err != nil {
		return nil, toFormatError(err)
	}
	n, err := readGraph(g, size, nil, o)
	if err != nil {
		return nil, err
	}
	setInputTypes(n, m)
	return n, nil
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

func readProgram(p *mil.Program, m *coreml.Model, size int, text bool, o Options) (*list.Network, error) {
	g, err := translate.Program(p, o.Dir, text)
	if err != nil {
		return nil, err
	}
	n, err := readModel(&g.Model, g.Packings, size+int(min(g.Bytes, 1<<30)), o)
	if err != nil {
		return nil, err
	}
	n.Files = append(n.Files, g.Files...)
	if m == nil {
		return n, nil
	}
	setInputTypes(n, m)
	return n, nil
}

// setInputTypes gives the inputs of n the types that the user of model m sees, such as "image".
func setInputTypes(n *list.Network, m *coreml.Model) {
	for i := range n.Inputs {
		for _, x := range m.Inputs {
			if x.Name == n.Inputs[i].Name && x.Type != "" {
				n.Inputs[i].Type = x.Type
			}
		}
	}
}
