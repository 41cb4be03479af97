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

// Files are those that values of tensors stand in, by path.
type Files map[string]*os.File

// Close closes the files.
func (f Files) Close() {
	for _, file := range f {
		file.Close()
	}
}

// Attach finds the values that stand in other files of dir, and returns these files, which are
// read when the values are asked for. Notes say which values are absent: those of files that are
// not there, and all of them where dir is "". A path is the model's own: [os.Root] keeps it
// within dir, links included. Errors of a tensor are a *[FormatError].
func (g *Graph) Attach(dir string) (files Files, notes []string, err error) {
	var external []*Tensor
	for _, t := range g.Constants {
		if t.External() {
			external = append(external, t)
		}
	}
	if len(external) == 0 {
		return nil, nil, nil
	}
	slices.SortFunc(external, func(a, b *Tensor) int { return cmp.Compare(a.Off, b.Off) })
	if dir == "" {
		return nil, []string{fmt.Sprintf("%d constants stand in other files, which were not read", len(external))}, nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	files = Files{}
	absent, room := map[string]bool{}, map[string]int64{}
	for _, t := range external {
		switch err := files.attach(root, t, room); {
		case errors.Is(err, fs.ErrNotExist):
			absent[t.File.Location] = true
		case err != nil:
			files.Close()
			return nil, nil, &FormatError{Off: t.Off, What: fmt.Sprintf("tensor %q: values in %q: %v", t.Name, t.File.Location, err)}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(absent)) {
		notes = append(notes, fmt.Sprintf("%q, where values stand, is not there", name))
	}
	return files, notes, nil
}

// attach finds a tensor's values. room is what may still be read of each file: tensors may share
// values, but not so often that they come to more than a few times the file.
func (f Files) attach(root *os.Root, t *Tensor, room map[string]int64) error {
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
	file := f[path]
	if file == nil {
		if file, err = root.Open(path); err != nil {
			return err
		}
		f[path] = file
	}
	t.Leave(file, t.File.Offset, want)
	return nil
}
