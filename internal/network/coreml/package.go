package coreml

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
)

// MaxBytes is the largest size in bytes of a file in a package that is read.
const MaxBytes = 1 << 31

// Manifest is the name of the file in a package that lists the others.
const Manifest = "Manifest.json"

// ModelPath returns the path of the model file in dir, a Core ML package. It reads the path from
// the package's Manifest.json, and returns an error if that file is malformed or names a file
// outside the package.
func ModelPath(dir fs.FS) (string, error) {
	const most = 1 << 20
	data, err := ReadFile(dir, Manifest, most)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("not a Core ML package: file %s is missing", Manifest)
	}
	if err != nil {
		return "", err
	}
	var m struct {
		Items map[string]struct {
			Path string `json:"path"`
		} `json:"itemInfoEntries"`
		Root string `json:"rootModelIdentifier"`
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return "", fmt.Errorf("file %s is not a JSON object with the model's path", Manifest)
	}
	item, ok := m.Items[m.Root]
	if !ok || item.Path == "" {
		return "", fmt.Errorf("file Manifest.json has no path for rootModelIdentifier %q", m.Root)
	}
	p := path.Join("Data", item.Path)
	if !fs.ValidPath(p) || !strings.HasPrefix(p, "Data/") {
		return "", fmt.Errorf("invalid path %q in Manifest.json; want a path within the Data directory", item.Path)
	}
	return p, nil
}

// ReadFile returns the content of the named file in dir. It returns an error if the file is not a
// regular file or has more than maximum bytes.
func ReadFile(dir fs.FS, name string, maximum int64) ([]byte, error) {
	info, err := fs.Stat(dir, name)
	if err != nil {
		return nil, err
	}
	switch {
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: not a regular file", name)
	case info.Size() > maximum:
		return nil, fmt.Errorf("%s: file has %d bytes; want at most %d", name, info.Size(), maximum)
	}
	f, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data := make([]byte, info.Size())
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return data, nil
}
