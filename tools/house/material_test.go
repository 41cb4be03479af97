package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Only package internal/material knows where the reference material is. Several tests once looked in
// a wrong directory and skipped with the material beside the checkout.
func TestMaterialHasOnePlace(t *testing.T) {
	const home = "internal/material"
	fset, files := token.NewFileSet(), 0
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		switch rel = filepath.ToSlash(rel); {
		case d.IsDir() && (rel == home || strings.HasPrefix(d.Name(), ".") && rel != "."):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go"):
			return nil
		}
		file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files++
		for _, at := range findSharedPaths(file) {
			t.Errorf("%v: a path to the reference material; ask package %s for the file", fset.Position(at), home)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 500 {
		t.Errorf("only %d files", files)
	}
}

// findSharedPaths returns the positions of strings and of calls of Join in a file that make a path
// to a directory shared above the file's package.
func findSharedPaths(file *ast.File) (list []token.Pos) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); n.Kind == token.STRING && err == nil && strings.HasPrefix(text, "../") && strings.Contains(text+"/", "/shared/") {
				list = append(list, n.Pos())
			}
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Join" {
				above := false
				for _, x := range n.Args {
					lit, _ := x.(*ast.BasicLit)
					above = above || lit != nil && lit.Value == `".."`
					if above && lit != nil && (lit.Value == `"shared"` || strings.HasPrefix(lit.Value, `"shared/`)) {
						list = append(list, n.Pos())
					}
				}
			}
		}
		return true
	})
	return list
}

func TestFindSharedPaths(t *testing.T) {
	for text, want := range map[string]int{
		`"../../shared/programs"`: 1, `"../shared"`: 1, `filepath.Join("..", "..", "shared", name)`: 1, `filepath.Join("..", "shared/luts")`: 1,
		`"shared"`: 0, `filepath.Join("shared", "x")`: 0, `"../sharedness"`: 0, `"see ../shared"`: 0,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package p\nvar _ = "+text, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(findSharedPaths(file)); got != want {
			t.Errorf("%s: %d paths, want %d", text, got, want)
		}
	}
}
