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

	"anesim/loader/network/keys"
	"anesim/loader/network/list"
	"anesim/loader/network/onnx"
)

// Options are what a network's file leaves open.
type Options struct {
	// Dims are the sizes of dimensions by name. One without a name, or named "?", is its
	// input's with the number of the axis behind a colon, like "image:2", and an input that
	// is one integer takes its value by its own name. A first dimension is 1 where nothing
	// is said of it.
	Dims map[string]int
	// Dir is the directory of the file: values that stand in other files are read from
	// there, and from nowhere outside of it. Without it those values are not read.
	Dir string
	// Tables takes one table for functions that have an exact form of several layers, Elu and
	// Softsign: cheaper, and less exact.
	Tables bool
}

// Read reads a network of the form that the name's ending says: .yaml or .yml, .onnx,
// .mlmodel or .mil.
func Read(name string, data []byte, o Options) (*list.Network, error) {
	read, err := reader(name)
	if err != nil {
		return nil, err
	}
	return read(data, o)
}

// ReadYAML reads a network from its list of layers. Errors are a *[list.FormatError].
func ReadYAML(data []byte) (*list.Network, error) {
	b, err := keys.ReadYAML(data)
	if err != nil {
		return nil, err
	}
	return finish(b)
}

// reader finds what reads files of a name's ending.
func reader(name string) (func([]byte, Options) (*list.Network, error), error) {
	switch ext := strings.ToLower(filepath.Ext(name)); ext {
	case ".yaml", ".yml":
		return func(data []byte, o Options) (*list.Network, error) {
			if err := newBinder(o.Dims).err(); err != nil {
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
		return nil, fmt.Errorf("extension %q: want .yaml, .yml, .onnx, .mlmodel, .mlpackage, .mlmodelc or .mil", ext)
	}
}

// Extensions returns the extensions of the files and packages that [Open] reads.
func Extensions() []string {
	return []string{".yaml", ".yml", ".onnx", ".mlmodel", ".mlpackage", ".mlmodelc", ".mil"}
}

// Open reads a network from a file of a form that [Read] knows, or from a directory: a
// .mlpackage, or a .mlmodelc with its program as text. Options.Dir is the file's directory
// where it is "".
func Open(path string, o Options) (*list.Network, error) {
	switch strings.ToLower(filepath.Ext(filepath.Clean(path))) {
	case ".mlpackage":
		return openPackage(path, o)
	case ".mlmodelc":
		return Open(filepath.Join(path, "model.mil"), o)
	}
	read, err := reader(path)
	if err != nil {
		return nil, err
	}
	o.Dir = cmp.Or(o.Dir, filepath.Dir(path))
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if strings.EqualFold(filepath.Ext(path), ".onnx") {
		size, err := regularSize(f, onnx.MaxBytes)
		if err != nil {
			return nil, err
		}
		return openONNX(f, size, o)
	}
	data, err := readAtMost(f, onnx.MaxBytes)
	if err != nil {
		return nil, err
	}
	return read(data, o)
}

// readAtMost reads a file of at most a number of bytes.
func readAtMost(f fs.File, most int64) ([]byte, error) {
	size, err := regularSize(f, most)
	if err != nil {
		return nil, err
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, err
	}
	return data, nil
}

// regularSize is the size of a file of at most a number of bytes.
func regularSize(f fs.File, most int64) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if !info.Mode().IsRegular() {
		return 0, errors.New("not a regular file")
	}
	if info.Size() > most {
		return 0, fmt.Errorf("%d bytes, want at most %d", info.Size(), most)
	}
	return info.Size(), nil
}
