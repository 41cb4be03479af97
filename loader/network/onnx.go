package network

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"anesim/internal/network/graph"
	"anesim/internal/network/onnx"
	"anesim/loader/network/list"
)

// ReadONNX reads a network from the content of an ONNX file. Operators that the engine cannot run
// become layers with a Reason. ReadONNX returns a *[DimError] if a dimension has no size or o.Dims
// has an unknown name, and a *[list.FormatError] if the file is malformed.
func ReadONNX(data []byte, o Options) (*list.Network, error) {
	m, err := onnx.Read(data)
	if err != nil {
		return nil, toFormatError(err)
	}
	m.Name = "" // exporters give every graph one name, such as torch_jit; that of the file says more
	return readModel(m, nil, len(data), o)
}

// openONNX reads a network from the ONNX file at path. It leaves large constants in the file. Those
// that the time does not depend on are read when they are packed, from the file opened anew.
func openONNX(path string, o Options) (*list.Network, error) {
	f, err := onnx.OpenFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if f.Size() > onnx.MaxBytes {
		return nil, fmt.Errorf("file has %d bytes; want at most %d", f.Size(), int64(onnx.MaxBytes))
	}
	m, err := onnx.ReadFrom(f, f.Size())
	if err != nil {
		return nil, toFormatError(err)
	}
	m.Name = "" // as in ReadONNX
	return readModel(m, nil, int(f.Size()), o)
}

// toFormatError converts err to a [list.FormatError]. The byte offset is that of a
// [onnx.FormatError], and -1, for no place, of any other error.
func toFormatError(err error) error {
	f := &list.FormatError{Off: -1, What: err.Error(), Err: err}
	var e *onnx.FormatError
	if errors.As(err, &e) {
		f.Off, f.What = e.Off, e.What
	}
	return f
}

// readModel builds a network from model m, whose file has size bytes. packings describes the
// constants that the file stores in packed form; it may be nil.
func readModel(m *onnx.Model, packings map[*onnx.Tensor]*graph.Packing, size int, o Options) (*list.Network, error) {
	files, absent, notes, err := m.Attach(o.Dir)
	var format *onnx.FormatError
	switch {
	case errors.As(err, &format):
		return nil, toFormatError(err)
	case err != nil:
		return nil, err
	}
	defer files.Close()
	if v := m.Opsets[""]; v > onnx.LatestOpset {
		notes = append(notes, fmt.Sprintf("operator set %d is newer than %d, the newest known one; operators that it changed may compute something else", v, onnx.LatestOpset))
	}
	n, err := readGraph(m.Import(packings), size, notes, o)
	if err != nil {
		return nil, err
	}
	n.Absent = absent
	for _, name := range slices.Sorted(maps.Keys(files)) {
		n.Files = append(n.Files, filepath.Join(o.Dir, name))
	}
	return n, nil
}
