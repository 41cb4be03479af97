package house

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/printer"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// apiFile lists the declarations that the module's packages export, those below internal directories and commands
// apart.
const apiFile = "docs/api.txt"

// A change of what packages export shows here first, in words. The page of package anesim says what
// users may rely on, and the CHANGELOG what has changed.
func TestAPI(t *testing.T) {
	name := filepath.Join(root, filepath.FromSlash(apiFile))
	want := listAPI(sources(t))
	if *update {
		if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range compareAPI(string(b), want) {
		t.Error(c)
	}
	if t.Failed() {
		t.Logf("go test ./tools/house -run TestAPI -update writes %s; note in CHANGELOG.md what users have to change", apiFile)
	}
}

// compareAPI describes what a listing has more, less or otherwise than an older one.
func compareAPI(older, newer string) []string {
	was, is := splitAPI(older), splitAPI(newer)
	var list []string
	for k, v := range was {
		switch now, ok := is[k]; {
		case !ok:
			list = append(list, "removed: "+k+v)
		case now != v:
			list = append(list, "changed: "+k+v+" is now "+k+now)
		}
	}
	for k, v := range is {
		if _, ok := was[k]; !ok {
			list = append(list, "added: "+k+v)
		}
	}
	slices.Sort(list)
	return list
}

// splitAPI returns what follows each name in a listing. A name begins with its package.
func splitAPI(text string) map[string]string {
	m := map[string]string{}
	pkg := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if p, ok := strings.CutPrefix(line, "package "); ok {
			pkg = p
			continue
		}
		if line = strings.TrimPrefix(line, "\t"); line != "" {
			kind, rest, _ := strings.Cut(line, " ")
			n := strings.IndexAny(rest, " ([")
			switch {
			case kind == "method": // (Type) Name(parameters) results
				n = strings.Index(rest, ") ") + 2
				n += max(0, strings.IndexByte(rest[n:], '('))
			case kind == "embeds" || n < 0: // a type may embed several
				n = len(rest)
			}
			m[pkg+": "+kind+" "+rest[:n]] = rest[n:]
		}
	}
	return m
}

func TestCompareAPI(t *testing.T) {
	older := "package a\n\tconst C\n\tembeds T X\n\tembeds T Y\n\tfield T.Old int\n\tfunc F(int) error\n\tmethod (*T) M() int\n\ttype T struct\n"
	newer := "package a\n\tconst C\n\tembeds T X\n\tfield T.New int\n\tfunc F(string) error\n\tmethod (*T) M() bool\n\ttype T struct\n"
	want := []string{
		"added: a: field T.New int",
		"changed: a: func F(int) error is now a: func F(string) error",
		"changed: a: method (*T) M() int is now a: method (*T) M() bool",
		"removed: a: embeds T Y",
		"removed: a: field T.Old int",
	}
	if d := cmp.Diff(want, compareAPI(older, newer)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if list := compareAPI(older, older); len(list) > 0 {
		t.Errorf("a listing differs from itself: %q", list)
	}
}

// listAPI lists the exported declarations of each package, without the names of parameters, which
// users do not write.
func listAPI(files []*source) string {
	packages := map[string][]string{}
	for _, s := range files {
		if s.file.Name.Name == "main" || strings.Contains("/"+s.path, "/internal/") || strings.HasPrefix(s.path, "tools/") {
			continue
		}
		p := module
		if d := s.dir(); d != "." {
			p += "/" + d
		}
		packages[p] = append(packages[p], listDecls(s.file)...)
	}
	var b strings.Builder
	for _, p := range slices.Sorted(maps.Keys(packages)) {
		lines := packages[p]
		slices.Sort(lines)
		fmt.Fprintf(&b, "package %s\n", p)
		for _, line := range slices.Compact(lines) {
			fmt.Fprintf(&b, "\t%s\n", line)
		}
	}
	return b.String()
}

func listDecls(f *ast.File) (lines []string) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if !d.Name.IsExported() {
				continue
			}
			if d.Recv == nil {
				lines = append(lines, "func "+d.Name.Name+signature(d.Type))
			} else if recv := d.Recv.List[0].Type; ast.IsExported(strings.TrimPrefix(code(recv), "*")) {
				lines = append(lines, fmt.Sprintf("method (%s) %s%s", code(recv), d.Name.Name, signature(d.Type)))
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					if s.Name.IsExported() {
						lines = append(lines, listType(s)...)
					}
				case *ast.ValueSpec:
					for _, n := range s.Names {
						if n.IsExported() {
							lines = append(lines, strings.TrimSpace(d.Tok.String()+" "+n.Name+" "+code(s.Type)))
						}
					}
				}
			}
		}
	}
	return lines
}

// listType lists a type with its exported fields or methods.
func listType(s *ast.TypeSpec) []string {
	name := s.Name.Name
	switch t := s.Type.(type) {
	case *ast.StructType:
		lines := []string{"type " + name + " struct"}
		for _, f := range t.Fields.List {
			for _, n := range f.Names {
				if n.IsExported() {
					lines = append(lines, "field "+name+"."+n.Name+" "+code(f.Type))
				}
			}
			if len(f.Names) == 0 {
				lines = append(lines, "embeds "+name+" "+code(f.Type))
			}
		}
		return lines
	case *ast.InterfaceType:
		lines := []string{"type " + name + " interface"}
		for _, m := range t.Methods.List {
			if f, ok := m.Type.(*ast.FuncType); ok {
				lines = append(lines, fmt.Sprintf("method (%s) %s%s", name, m.Names[0].Name, signature(f)))
			} else {
				lines = append(lines, "embeds "+name+" "+code(m.Type))
			}
		}
		return lines
	}
	if s.Assign.IsValid() {
		return []string{"type " + name + " = " + code(s.Type)}
	}
	return []string{"type " + name + " " + code(s.Type)}
}

// signature returns the types of parameters and results.
func signature(f *ast.FuncType) string {
	types := func(l *ast.FieldList) string {
		var list []string
		if l != nil {
			for _, p := range l.List {
				for range max(1, len(p.Names)) {
					list = append(list, code(p.Type))
				}
			}
		}
		return strings.Join(list, ", ")
	}
	text := ""
	if f.TypeParams != nil {
		text = "[" + types(f.TypeParams) + "]"
	}
	text += "(" + types(f.Params) + ")"
	switch results := types(f.Results); {
	case results == "":
	case f.Results.NumFields() > 1:
		text += " (" + results + ")"
	default:
		text += " " + results
	}
	return text
}

// code prints a type on one line.
func code(n ast.Expr) string {
	if n == nil {
		return ""
	}
	var b bytes.Buffer
	if err := printer.Fprint(&b, token.NewFileSet(), n); err != nil {
		panic(err)
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
