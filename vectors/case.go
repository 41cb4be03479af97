package vectors

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

//go:embed derived silicon synthetic
var files embed.FS

// FS is the embedded cases, as <family>/<case>.json.
func FS() fs.FS { return files }

// An Origin says where a case comes from.
type Origin string

// The origins.
const (
	Silicon     Origin = "silicon"
	RealProgram Origin = "real program"
	Derived     Origin = "derived"
	Synthetic   Origin = "synthetic"
)

// fits reports whether a case of the origin may stand in the file.
func (o Origin) fits(file string) bool {
	room, _, _ := strings.Cut(file, "/")
	switch o {
	case Silicon, RealProgram:
		return room == "silicon"
	case Derived, Synthetic:
		return room == string(o)
	}
	return false
}

// A Case is one golden result.
type Case[T any] struct {
	Name   string `json:"name"`
	Origin Origin `json:"origin"`
	Source string `json:"source"`
	Data   T      `json:"data"`

	File string `json:"-"` // its path in FS
}

// A CaseError is a case that cannot be read or written.
type CaseError struct {
	File string
	What string
	Err  error // the cause, or nil
}

func (e *CaseError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("case %s: %s: %v", e.File, e.What, e.Err)
	}
	return fmt.Sprintf("case %s: %s", e.File, e.What)
}

// Unwrap returns the cause.
func (e *CaseError) Unwrap() error { return e.Err }

// A checker is data that can be wrong in itself.
type checker interface{ check() error }

// Load reads the cases of a family, a directory of fsys, in the order of their file
// names. A family without cases is an error, as is a field that its data does not have;
// errors are *CaseError.
func Load[T any](fsys fs.FS, family string) ([]Case[T], error) {
	names, err := fs.Glob(fsys, path.Join(family, "*.json"))
	if err != nil {
		return nil, &CaseError{family, "the name of the family", err}
	}
	if len(names) == 0 {
		return nil, &CaseError{family, "no cases", nil}
	}
	cases := make([]Case[T], len(names))
	for i, name := range names {
		if err := cases[i].read(fsys, name); err != nil {
			return nil, err
		}
	}
	return cases, nil
}

func (c *Case[T]) read(fsys fs.FS, name string) error {
	b, err := fs.ReadFile(fsys, name)
	if err != nil {
		return &CaseError{name, "reading", err}
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(c); err != nil {
		return &CaseError{name, fmt.Sprintf("JSON, before byte %d", d.InputOffset()), err}
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return &CaseError{name, fmt.Sprintf("more than one value, at byte %d", d.InputOffset()), nil}
	}
	c.File = name
	return c.check()
}

func (c *Case[T]) check() error {
	switch {
	case c.Name == "":
		return &CaseError{c.File, "no name", nil}
	case c.Source == "":
		return &CaseError{c.File, "no source", nil}
	case !c.Origin.fits(c.File):
		return &CaseError{c.File, fmt.Sprintf("a case of origin %q does not belong here", c.Origin), nil}
	}
	if d, ok := any(&c.Data).(checker); ok {
		if err := d.check(); err != nil {
			return &CaseError{c.File, "data", err}
		}
	}
	return nil
}

// Write writes a derived case to its File below dir, a copy of this package's directory.
// A case of any other origin is a *CaseError and leaves the directory as it was.
func (c *Case[T]) Write(dir string) error {
	if c.Origin != Derived || !fs.ValidPath(c.File) {
		return &CaseError{c.File, "only cases below derived may be written", nil}
	}
	if err := c.check(); err != nil {
		return err
	}
	b, err := json.MarshalIndent(c, "", " ")
	if err != nil {
		return &CaseError{c.File, "JSON", err}
	}
	if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(c.File)), append(b, '\n'), 0o666); err != nil {
		return &CaseError{c.File, "writing", err}
	}
	return nil
}
