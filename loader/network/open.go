package network

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"anesim/internal/network/keys"
	"anesim/internal/network/onnx"
	"anesim/loader/layer"
	"anesim/loader/network/list"
)

// Options supplies sizes and other information that a network's file may lack. The zero value is
// valid.
type Options struct {
	// Dims holds the sizes of dimensions by name. A dimension without a name, or named "?", is
	// called by its input and axis, such as "image:2". Dims also gives an input that is a single
	// integer its value, by the name of the input. The default for a first dimension is 1.
	Dims map[string]int
	// Dir is the directory of the file. Values in other files are read from there, and never
	// from outside it. If Dir is "", these values are not read.
	Dir string
	// Function names the function of a Core ML program that has several. The default is the one that
	// the file suggests, or the one called main.
	Function string
	// Release is the release of Apple's compiler for which a graph's nodes become layers: that of 2026
	// keeps some operators that a file spells as several nodes. The layers ask for the newest; see
	// [list.Network.SetRelease].
	Release layer.Release
	// Tables uses a single lookup table for Elu, Selu, Celu and Softsign instead of several exact
	// layers, which is cheaper but less exact. Selu and Celu have a table for their default
	// parameters only.
	Tables bool
}

// Read reads a network from data, the content of the named file. The extension of name selects the
// format: .yaml, .yml, .onnx, .mlmodel or .mil. Read returns an error for any other extension.
// Otherwise, it returns any error from the reader of the format.
func Read(name string, data []byte, o Options) (*list.Network, error) {
	read, err := chooseReader(name)
	if err != nil {
		return nil, err
	}
	if err := checkFunction(name, &o); err != nil {
		return nil, err
	}
	return read(data, o)
}

// ReadYAML reads a network from the content of a YAML file that lists its layers (see package
// keys). The error is a *[list.FormatError].
func ReadYAML(data []byte) (*list.Network, error) {
	b, err := keys.ReadYAML(data)
	if err != nil {
		return nil, err
	}
	return runPasses(b)
}

// chooseReader returns the function that reads a file with the given name, which its extension
// selects. It returns an error for an unknown extension.
func chooseReader(name string) (func([]byte, Options) (*list.Network, error), error) {
	switch ext := strings.ToLower(filepath.Ext(name)); ext {
	case ".yaml", ".yml":
		return func(data []byte, o Options) (*list.Network, error) {
			if err := newBinder(o.Dims).checkNames(); err != nil {
				return nil, err
			}
			return ReadYAML(data)
		}, nil
	case ".onnx":
		return ReadONNX, nil
	case ".mlmodel":
		return ReadCoreML, nil
	case ".mil":
		return ReadMIL, nil
	default:
		return nil, fmt.Errorf("unknown extension %q; want .yaml, .yml, .onnx, .mlmodel, .mlpackage, .mlmodelc or .mil", ext)
	}
}

// checkFunction returns an error if the options name a function, and the named file has a format without
// functions.
func checkFunction(name string, o *Options) error {
	if ext := strings.ToLower(filepath.Ext(name)); o.Function != "" && ext != ".mlmodel" && ext != ".mil" {
		return &FunctionError{Name: o.Function}
	}
	return nil
}

// Extensions returns the file extensions that [Open] accepts, each with its dot.
func Extensions() []string {
	return []string{".yaml", ".yml", ".onnx", ".mlmodel", ".mlpackage", ".mlmodelc", ".mil"}
}

// Open reads a network from the file at path. In addition to the formats of [Read], it accepts two
// kinds of directories: a Core ML package (.mlpackage), and a compiled Core ML model whose program
// is text (.mlmodelc). A package contains its weights. For other formats, values in other files are
// read from o.Dir or, if it is "", from the directory of the file.
func Open(path string, o Options) (*list.Network, error) {
	switch strings.ToLower(filepath.Ext(filepath.Clean(path))) {
	case ".mlpackage":
		return openPackage(path, o)
	case ".mlmodelc":
		return Open(filepath.Join(path, "model.mil"), o)
	}
	read, err := chooseReader(path)
	if err != nil {
		return nil, err
	}
	if err := checkFunction(path, &o); err != nil {
		return nil, err
	}
	o.Dir = cmp.Or(o.Dir, filepath.Dir(path))
	var n *list.Network
	if strings.EqualFold(filepath.Ext(path), ".onnx") {
		n, err = openONNX(path, o)
	} else {
		n, err = openWhole(path, read, o)
	}
	if err != nil {
		return nil, err
	}
	n.Files = append(n.Files, path)
	return n, nil
}

// openWhole reads a network from the whole content of the file at path with the function read.
func openWhole(path string, read func([]byte, Options) (*list.Network, error), o Options) (*list.Network, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := readAtMost(f, onnx.MaxBytes)
	if err != nil {
		return nil, err
	}
	return read(data, o)
}

// readAtMost returns the content of f. It returns an error if f is not a regular file or has more
// than maximum bytes.
func readAtMost(f fs.File, maximum int64) ([]byte, error) {
	size, err := regularFileSize(f, maximum)
	if err != nil {
		return nil, err
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, err
	}
	return data, nil
}

// regularFileSize returns the size of f in bytes. It returns an error if f is not a regular file or
// has more than maximum bytes.
func regularFileSize(f fs.File, maximum int64) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if !info.Mode().IsRegular() {
		return 0, errors.New("not a regular file")
	}
	if info.Size() > maximum {
		return 0, fmt.Errorf("file has %d bytes; want at most %d", info.Size(), maximum)
	}
	return info.Size(), nil
}
