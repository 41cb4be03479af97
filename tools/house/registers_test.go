package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// Lowering sets registers in two packages only, so that support for another generation of the
// engine changes only them. Package task sets the registers that follow from a task alone, and
// package chain those that follow from the tasks around it.
const (
	registerOwners = "loader/internal/lower/task loader/internal/lower/chain"
	withoutSetting = "loader/layer loader/lower loader/network"
)

func TestOnlyTasksSetRegisters(t *testing.T) {
	files := 0
	for _, s := range sources(t) {
		within := func(dir string) bool { return s.dir() == dir || strings.HasPrefix(s.path, dir+"/") }
		if !slices.ContainsFunc(strings.Fields(withoutSetting), within) || slices.ContainsFunc(strings.Fields(registerOwners), within) {
			continue
		}
		files++
		for _, at := range registerWrites(s.file) {
			t.Errorf("%s:%d sets a register; only %s do", s.path, s.line(at), registerOwners)
		}
	}
	if files < 50 {
		t.Errorf("%d files looked at", files)
	}
}

// registerWrites returns the positions in a file at which a word of a descriptor is set: calls of
// setters, whose names begin with With, and new values of a header or of all registers.
func registerWrites(f *ast.File) []token.Pos {
	var at []token.Pos
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			s, ok := n.Fun.(*ast.SelectorExpr)
			if ok && strings.HasPrefix(s.Sel.Name, "With") && len(s.Sel.Name) > len("With") && ast.IsExported(s.Sel.Name[len("With"):]) {
				at = append(at, n.Pos())
			}
			if id, ok := n.Fun.(*ast.Ident); ok && id.Name == "new" && len(n.Args) == 1 && descriptor(n.Args[0]) {
				at = append(at, n.Pos())
			}
		case *ast.CompositeLit:
			if descriptor(n.Type) {
				at = append(at, n.Pos())
			}
		case *ast.ValueSpec:
			if descriptor(n.Type) {
				at = append(at, n.Pos())
			}
		}
		return true
	})
	return at
}

// descriptor reports whether an expression is the type of a header or of all registers.
func descriptor(e ast.Expr) bool {
	s, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := s.X.(*ast.Ident)
	return ok && pkg.Name == "regs" && (s.Sel.Name == "Groups" || s.Sel.Name == "Header")
}

func TestRegisterWrites(t *testing.T) {
	const text = `package p
func a(g *regs.Groups) { g.Common.Cfg = g.Common.Cfg.WithTranspose(true) }
var b = regs.Groups{}
var c = new(regs.Header)
var d regs.Groups
func e(g *regs.Groups) int { return g.GroupCount() }
func f(s []byte) { Without(s); regs.EncodeChain(nil) }
`
	f, err := parser.ParseFile(token.NewFileSet(), "p.go", text, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := len(registerWrites(f)); got != 4 {
		t.Errorf("%d places set registers, want 4", got)
	}
}
