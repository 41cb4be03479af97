package onnx

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// Files holds the open files in which a model stores tensor values outside its own file. The keys
// are paths relative to the model's directory.
type Files map[string]*File

// Close closes all files. Later reads of values open them again.
func (f Files) Close() {
	for _, file := range f {
		file.Close()
	}
}

// Attach opens the files in dir that hold values of g's constants, and returns them. The caller
// must keep them open while values are read. If dir is "" or a file does not exist, the values stay
// absent, absent has the file's name, and notes says so. Attach never opens a file outside dir, not
// even through a link. It returns a *[FormatError] if a file does not hold the values of a constant.
func (g *Graph) Attach(dir string) (files Files, absent, notes []string, err error) {
	var external []*Tensor
	for _, t := range g.Constants {
		if t.External() {
			external = append(external, t)
		}
	}
	if len(external) == 0 {
		return nil, nil, nil, nil
	}
	// A map has no order. In that of the file, the first error is always the same.
	slices.SortFunc(external, func(a, b *Tensor) int { return cmp.Compare(a.Off, b.Off) })
	if dir == "" {
		for _, t := range external {
			absent = append(absent, t.File.Location)
		}
		slices.Sort(absent)
		return nil, slices.Compact(absent), []string{fmt.Sprintf("%d constants are in other files, which were not read", len(external))}, nil
	}
	// Names in a model are not trusted: "../../etc/passwd" must not be read.
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, nil, err
	}
	defer root.Close()
	files = Files{}
	missing, room := map[string]bool{}, map[string]int64{}
	for _, t := range external {
		switch err := files.openTensorFile(root, t, room); {
		case errors.Is(err, fs.ErrNotExist):
			missing[t.File.Location] = true
		case err != nil:
			files.Close()
			return nil, nil, nil, &FormatError{Off: t.Off, What: fmt.Sprintf("tensor %q: values in %q: %v", t.Name, t.File.Location, err)}
		}
	}
	absent = slices.Sorted(maps.Keys(missing))
	for _, name := range absent {
		notes = append(notes, fmt.Sprintf("file %q does not exist; pseudo-random weights take the place of its weights", name))
	}
	return files, absent, notes, nil
}

// openTensorFile opens the file in which t stores its values. room holds the number of bytes that
// may still be read from each file: tensors may share values, but all of them together may not read
// more than 4 times the size of the file.
func (f Files) openTensorFile(root *os.Root, t *Tensor, room map[string]int64) error {
	want := t.Bytes()
	switch {
	case t.Type.Width() == 0:
		return fmt.Errorf("unsupported element type %v", t.Type)
	case t.File.Location == "":
		return errors.New("external data has no location; want a file name")
	case t.File.Length >= 0 && t.File.Length != want:
		return fmt.Errorf("external data has %d bytes; want %d for %v elements of shape %v", t.File.Length, want, t.Type, t.Dims)
	}
	path := filepath.FromSlash(t.File.Location)
	info, err := root.Stat(path)
	if err != nil {
		return err
	}
	if _, known := room[path]; !known {
		room[path] = 4 * info.Size()
	}
	// Tensors may share bytes, so a small file could otherwise be read as terabytes.
	if room[path] -= want; room[path] < 0 {
		return fmt.Errorf("tensors refer to too many bytes of the file; want at most %d, 4 times its size", 4*info.Size())
	}
	if !info.Mode().IsRegular() {
		return errors.New("not a regular file")
	}
	// Subtracted, because offset plus length may overflow.
	if t.File.Offset > info.Size()-want {
		return fmt.Errorf("%d bytes at offset %d exceed the file size of %d bytes", want, t.File.Offset, info.Size())
	}
	file := f[path]
	if file == nil {
		opened, err := root.Open(path)
		if err != nil {
			return err
		}
		if file, err = newFile(filepath.Join(root.Name(), path), opened); err != nil {
			return err
		}
		f[path] = file
	}
	t.ReadFromFile(file, t.File.Offset, want)
	return nil
}
