package outfile

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A Plan lists the files that a command reads and writes. A command adds every name before it
// writes the first file: names on the command line, names that an input refers to, and names that
// it makes of others. A name that would destroy an input or another output is then refused while
// nothing is lost yet. The zero value is an empty plan.
type Plan struct{ files []plannedFile }

// A plannedFile is a file that a command reads or writes.
type plannedFile struct {
	path string
	by   string // flag of the command that writes the file, or "" for an input

	info     fs.FileInfo // nil if there is no such file
	resolved string      // absolute path without links in the directory
}

// An InputError reports an output file that would overwrite an input file.
type InputError struct {
	By            string // flag of the output, or ""
	Output, Input string
}

func (e *InputError) Error() string {
	by := e.By
	if by != "" {
		by += ": "
	}
	return fmt.Sprintf("%soutput %s would overwrite input %s; choose another name", by, e.Output, e.Input)
}

// A ClashError reports two outputs with the same name.
type ClashError struct {
	First, Second string // flags
	Output        string
}

func (e *ClashError) Error() string {
	return fmt.Sprintf("%s and %s both write %s; use different files", e.First, e.Second, e.Output)
}

// Read adds files that the command reads. The error is an *[InputError] if one of them is an
// output, even through a link or another path.
func (p *Plan) Read(paths ...string) error { return p.add("", paths) }

// Write adds files that the flag by of the command writes; they have different names. The error is an
// *[InputError] if one of them is an input, and a *[ClashError] if an output that was added before
// has the same name, even through a link or another path, or if one is the directory of the other.
// The same flag may add a name again.
func (p *Plan) Write(by string, paths ...string) error { return p.add(by, paths) }

func (p *Plan) add(by string, paths []string) error {
	before := p.files
	for _, path := range paths {
		if path == "" || path == "-" {
			continue
		}
		f := plannedFile{path: path, by: by, resolved: resolvePath(path)}
		f.info, _ = os.Stat(path)
		for i := range before {
			if err := before[i].check(&f); err != nil {
				return err
			}
		}
		p.files = append(p.files, f)
	}
	return nil
}

// check returns an error if one of two files would destroy the other. The file f was added first.
func (f *plannedFile) check(g *plannedFile) error {
	switch {
	case f.by == g.by:
		return nil
	case f.by == "" && f.same(g):
		return &InputError{g.by, g.path, f.path}
	case g.by == "" && f.same(g):
		return &InputError{f.by, f.path, g.path}
	case f.by != "" && g.by != "" && (f.same(g) || f.isDirOf(g) || g.isDirOf(f)):
		return &ClashError{f.by, g.by, g.path}
	}
	return nil
}

// same reports whether two paths lead to the same file, which need not exist yet. It returns false
// for pipes and devices, because writing to them destroys nothing.
func (f *plannedFile) same(g *plannedFile) bool {
	if f.info == nil || g.info == nil {
		return f.info == nil && g.info == nil && f.resolved == g.resolved
	}
	return f.info.Mode().IsRegular() && os.SameFile(f.info, g.info)
}

// isDirOf reports whether f has the name of a directory in which g is to be, at any depth.
func (f *plannedFile) isDirOf(g *plannedFile) bool {
	rest, ok := strings.CutPrefix(g.resolved, f.resolved)
	return ok && rest != "" && os.IsPathSeparator(rest[0])
}

// resolvePath returns the absolute path of a file after resolving the links in the path of its
// directory. Neither need exist.
func resolvePath(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	dir, rest := filepath.Split(path)
	for {
		dir = filepath.Clean(dir)
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		}
		parent, base := filepath.Split(dir)
		if parent == dir || base == "" {
			return path
		}
		dir, rest = parent, filepath.Join(base, rest)
	}
}
