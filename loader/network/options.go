package network

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
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
}

// A DimError is a network with dimensions that have no size, or sizes for dimensions that
// it does not have.
type DimError struct {
	Needed  []Dim
	Unknown []string // given, and no dimension's name
}

// A Dim is a dimension by name and where it stands.
type Dim struct{ Name, Input string }

func (e *DimError) Error() string {
	var parts []string
	if len(e.Needed) > 0 {
		var list, example []string
		for _, d := range e.Needed {
			list = append(list, fmt.Sprintf("%q of input %q", d.Name, d.Input))
			example = append(example, d.Name+"=1")
		}
		parts = append(parts, fmt.Sprintf("dimensions without a size: %s; give them as in --dim %s",
			strings.Join(list, ", "), strings.Join(example, ",")))
	}
	if len(e.Unknown) > 0 {
		parts = append(parts, fmt.Sprintf("no dimension is called %s", strings.Join(e.Unknown, ", ")))
	}
	return list.OneLine.Replace(strings.Join(parts, "; "))
}

// ParseDims reads sizes of dimensions as the command line has them: N=1,height=640.
func ParseDims(text string) (map[string]int, error) {
	sizes := map[string]int{}
	for pair := range strings.SplitSeq(text, ",") {
		at := strings.LastIndexByte(pair, '=')
		if at < 1 {
			return nil, fmt.Errorf("%q: want NAME=SIZE", pair)
		}
		n, err := strconv.Atoi(pair[at+1:])
		if err != nil || n < 0 || n > list.MaxExtent {
			return nil, fmt.Errorf("%q: want a size from 0 to %d", pair, list.MaxExtent)
		}
		if _, twice := sizes[pair[:at]]; twice {
			return nil, fmt.Errorf("%q is given twice", pair[:at])
		}
		sizes[pair[:at]] = n
	}
	return sizes, nil
}

// A binder gives dimensions their sizes.
type binder struct {
	sizes  map[string]int
	first  map[string]bool // names of first dimensions
	used   map[string]bool
	failed DimError
}

func newBinder(sizes map[string]int, inputs ...onnx.Value) *binder {
	b := &binder{sizes: sizes, used: map[string]bool{}, first: map[string]bool{}}
	for _, in := range inputs {
		if len(in.Dims) > 1 && dimName(in.Dims[0]) != "" {
			b.first[in.Dims[0].Name] = true
		}
	}
	return b
}

// value is what an input of one integer was given.
func (b *binder) value(v onnx.Value) (int, bool) {
	if len(v.Dims) > 0 || v.Type.IsFloat() || v.Type.Width() == 0 {
		return 0, false
	}
	n, ok := b.sizes[v.Name]
	b.used[v.Name] = b.used[v.Name] || ok
	return n, ok
}

// dimName returns the name that a file gives a dimension. Several dimensions named "?", which
// some exporters write, have nothing in common, so that is no name.
func dimName(d onnx.Dim) string {
	if d.Name == "?" {
		return ""
	}
	return d.Name
}

func (b *binder) bind(v onnx.Value) []int {
	dims := []int{}
	for i, d := range v.Dims {
		if d.Size > 0 && d.Size <= list.MaxExtent {
			dims = append(dims, int(d.Size))
			continue
		}
		name := dimName(d)
		if name == "" {
			name = fmt.Sprintf("%s:%d", v.Name, i)
		}
		size, ok := b.sizes[name]
		b.used[name] = true
		switch {
		case ok && size > 0:
		case i == 0 || b.first[name]:
			size = 1
		case !slices.ContainsFunc(b.failed.Needed, func(x Dim) bool { return x.Name == name }):
			b.failed.Needed = append(b.failed.Needed, Dim{name, v.Name})
		}
		dims = append(dims, max(1, size))
	}
	return dims
}

func (b *binder) err() error {
	for name := range b.sizes {
		if !b.used[name] {
			b.failed.Unknown = append(b.failed.Unknown, name)
		}
	}
	slices.Sort(b.failed.Unknown)
	if len(b.failed.Needed)+len(b.failed.Unknown) == 0 {
		return nil
	}
	return &b.failed
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

// attach reads the values that stand in other files of dir. The path is the file's own:
// os.Root keeps it within dir, links included.
func (r *graphReader) attach(g *onnx.Graph, dir string) error {
	var external []*onnx.Tensor
	for _, t := range g.Constants {
		if t.External() {
			external = append(external, t)
		}
	}
	if len(external) == 0 {
		return nil
	}
	slices.SortFunc(external, func(a, b *onnx.Tensor) int { return cmp.Compare(a.Off, b.Off) })
	if dir == "" {
		r.list.Note("%d constants stand in other files, which were not read", len(external))
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	absent, room := map[string]bool{}, map[string]int64{}
	for _, t := range external {
		switch err := r.attachOne(root, t, room); {
		case errors.Is(err, fs.ErrNotExist):
			absent[t.File.Location] = true
		case err != nil:
			return &list.FormatError{Off: t.Off, What: fmt.Sprintf("tensor %q: values in %q: %v", t.Name, t.File.Location, err), Err: err}
		}
	}
	names := make([]string, 0, len(absent))
	for name := range absent {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		r.list.Note("%q, where values stand, is not there", name)
	}
	return nil
}

// attachOne finds a tensor's values, which are read when they are asked for. room is what
// may still be read of each file: tensors may share values, but not so often that they come
// to more than a few times the file.
func (r *graphReader) attachOne(root *os.Root, t *onnx.Tensor, room map[string]int64) error {
	want := t.Bytes()
	switch {
	case t.Type.Width() == 0:
		return fmt.Errorf("elements of %v", t.Type)
	case t.File.Location == "":
		return errors.New("no file is named")
	case t.File.Length >= 0 && t.File.Length != want:
		return fmt.Errorf("%d bytes for shape %v of %v", t.File.Length, t.Dims, t.Type)
	}
	path := filepath.FromSlash(t.File.Location)
	info, err := root.Stat(path)
	if err != nil {
		return err
	}
	if _, known := room[path]; !known {
		room[path] = 4 * info.Size()
	}
	if room[path] -= want; room[path] < 0 {
		return errors.New("more values than four times the file's")
	}
	if !info.Mode().IsRegular() || t.File.Offset > info.Size()-want {
		return fmt.Errorf("%d bytes from %d on, of %d", want, t.File.Offset, info.Size())
	}
	f := r.files[path]
	if f == nil {
		if f, err = root.Open(path); err != nil {
			return err
		}
		r.files[path] = f
	}
	t.Leave(f, t.File.Offset, want)
	return nil
}

// close closes the files that values stand in.
func (r *graphReader) close() {
	for _, f := range r.files {
		f.Close()
	}
}
