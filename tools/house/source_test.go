package house

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// A source is a parsed Go file that is not a test.
type source struct {
	path      string // below the module's root, with slashes
	fset      *token.FileSet
	file      *ast.File
	generated bool // has a line that ends in "DO NOT EDIT."
}

// dir returns the directory of the file, which is "." for the module's root.
func (s *source) dir() string { return path.Dir(s.path) }

// line returns the line number of a position in the file.
func (s *source) line(pos token.Pos) int { return s.fset.Position(pos).Line }

// parseSources parses all sources, in the order of their paths. It leaves out directories named
// testdata and those whose names begin with a dot.
var parseSources = sync.OnceValues(func() (list []*source, err error) {
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if n := d.Name(); name != root && (strings.HasPrefix(n, ".") || n == "testdata") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		src, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		s := &source{path: filepath.ToSlash(rel), fset: token.NewFileSet(), generated: bytes.Contains(src, []byte("DO NOT EDIT.\n"))}
		if s.file, err = parser.ParseFile(s.fset, name, src, parser.ParseComments|parser.SkipObjectResolution); err != nil {
			return err
		}
		list = append(list, s)
		return nil
	})
	return list, err
})

// sources returns all source files. All tests share the result, so they must not change it.
func sources(t *testing.T) []*source {
	t.Helper()
	list, err := parseSources()
	if err != nil {
		t.Fatal(err)
	}
	return list
}
