package vectors

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	golden "anesim/vectors"
)

// files has all cases. Each is a file FAMILY/CASE.json, where FAMILY is a directory such as
// silicon/reduction.
var files = golden.FS()

// An Origin says how the expected result of a case was obtained.
type Origin string

// The origins of cases. Files of the first two are in the directory silicon, the others in
// directories of their own names.
const (
	Silicon     Origin = "silicon"      // measured on the device
	RealProgram Origin = "real program" // stored in a program of Apple's compiler
	Derived     Origin = "derived"      // computed by an earlier version of the model
	Synthetic   Origin = "synthetic"    // computed by hand from the rules of the arithmetic
)

// allowsFile reports whether a case of origin o may be in the given file. The first directory of
// the file must match the origin.
func (o Origin) allowsFile(file string) bool {
	room, _, _ := strings.Cut(file, "/")
	switch o {
	case Silicon, RealProgram:
		return room == "silicon"
	case Derived, Synthetic:
		return room == string(o)
	}
	return false
}

// A Case is a test vector: an expected result of type T, such as a [Reduction], and a record of
// where it comes from.
type Case[T any] struct {
	Name   string `json:"name"`
	Origin Origin `json:"origin"`
	Source string `json:"source"`
	Data   T      `json:"data"`

	File string `json:"-"` // slash-separated path in the directory of golden data
}

// A CaseError reports a case that cannot be read or written.
type CaseError struct {
	File string
	What string
	Err  error // the cause, or nil
}

// Error returns text such as "case silicon/reduction/a.json: missing name", followed by the cause
// if there is one.
func (e *CaseError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("case %s: %s: %v", e.File, e.What, e.Err)
	}
	return fmt.Sprintf("case %s: %s", e.File, e.What)
}

// Unwrap returns e.Err, the cause.
func (e *CaseError) Unwrap() error { return e.Err }

// A checker can check its own data.
type checker interface{ validate() error }

// Load reads all cases of a family, which is a directory of fsys, and returns them sorted by file
// name. It returns a *[CaseError] if the family has no cases, or if a file is not valid, such as
// one that is incomplete or has an unknown field.
func Load[T any](fsys fs.FS, family string) ([]Case[T], error) {
	names, err := fs.Glob(fsys, path.Join(family, "*.json"))
	if err != nil {
		return nil, &CaseError{family, "invalid family name", err}
	}
	if len(names) == 0 {
		return nil, &CaseError{family, "no cases found", nil}
	}
	cases := make([]Case[T], len(names))
	for i, name := range names {
		if err := cases[i].readFile(fsys, name); err != nil {
			return nil, err
		}
	}
	return cases, nil
}

// readFile fills c from a file of fsys and checks it.
func (c *Case[T]) readFile(fsys fs.FS, name string) error {
	b, err := fs.ReadFile(fsys, name)
	if err != nil {
		return &CaseError{name, "cannot read file", err}
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(c); err != nil {
		return &CaseError{name, fmt.Sprintf("invalid JSON before byte %d", d.InputOffset()), err}
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return &CaseError{name, fmt.Sprintf("unexpected second JSON value at byte %d", d.InputOffset()), nil}
	}
	c.File = name
	return c.validate()
}

// validate returns an error if the case is incomplete, in the wrong directory, or has invalid data.
func (c *Case[T]) validate() error {
	switch {
	case c.Name == "":
		return &CaseError{c.File, "missing name", nil}
	case c.Source == "":
		return &CaseError{c.File, "missing source", nil}
	case !c.Origin.allowsFile(c.File):
		return &CaseError{c.File, fmt.Sprintf("origin %q does not match the directory", c.Origin), nil}
	}
	if d, ok := any(&c.Data).(checker); ok {
		if err := d.validate(); err != nil {
			return &CaseError{c.File, "invalid data", err}
		}
	}
	return nil
}

// Write writes the case to the file c.File in dir, a copy of the directory of golden data. It writes
// only complete cases of origin [Derived]. For any other case, it returns a *[CaseError] and writes
// nothing.
func (c *Case[T]) Write(dir string) error {
	if c.Origin != Derived || !fs.ValidPath(c.File) {
		return &CaseError{c.File, fmt.Sprintf("cannot write; want origin %q and a valid path", Derived), nil}
	}
	if err := c.validate(); err != nil {
		return err
	}
	b, err := json.MarshalIndent(c, "", " ")
	if err != nil {
		return &CaseError{c.File, "cannot encode as JSON", err}
	}
	if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(c.File)), append(b, '\n'), 0o666); err != nil {
		return &CaseError{c.File, "cannot write file", err}
	}
	return nil
}
