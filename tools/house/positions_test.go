package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"
)

// Where a field is in its register differs from one generation of the engine to the next, so only
// package regs knows it: the units below hw ask for fields by name. A file uses a position if it
//
//   - takes the bits of a word, with regs.Raw or a conversion to uint32, or makes a word of bits;
//   - shifts or masks a word, or a part of a structure that has the name of a register.
//
// That words are opaque, so that nothing else compiles, is a test of package regs.
func TestUnitsUseNoBitPositions(t *testing.T) {
	words := registerNames(t)
	files := 0
	for _, s := range sources(t) {
		if !isUnit(s.dir()) {
			continue
		}
		files++
		for _, at := range positionUses(s.file, words) {
			t.Errorf("%s:%d uses the bits of a register, which only hw/regs may", s.path, s.line(at))
		}
	}
	if files < 80 {
		t.Errorf("%d files looked at", files)
	}
}

// isUnit reports whether a directory has code of the engine's units, but for that of the registers.
func isUnit(dir string) bool {
	below := func(parent string) bool { return dir == parent || strings.HasPrefix(dir, parent+"/") }
	return (below("hw") || below("internal/datapath")) && !below("hw/regs")
}

// registerNames returns the names of the registers of the groups and of their word types.
func registerNames(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../hw/regs/fields.txt")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(string(text)) {
		col := strings.Split(line, "\t")
		if len(col) < 3 || col[0][0] != 'G' {
			continue
		}
		name, word, _ := strings.Cut(col[2], "/")
		name, _, _ = strings.Cut(name, "[")
		for _, n := range [...]string{name, word} {
			if n != "" && !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
	}
	if len(names) < 70 {
		t.Fatalf("%d names of registers", len(names))
	}
	return names
}

// positionUses returns the places in a file that depend on the positions of fields in registers, of
// which words has the names.
func positionUses(f *ast.File, words []string) (at []token.Pos) {
	for _, d := range f.Decls {
		at = append(at, positionUsesIn(d, words)...)
	}
	return at
}

// positionUsesIn does the same for one declaration, such as a function.
func positionUsesIn(d ast.Decl, words []string) (at []token.Pos) {
	var variables []string // those that hold a word
	ast.Inspect(d, func(n ast.Node) bool {
		var names []*ast.Ident
		switch n := n.(type) {
		case *ast.Field:
			if isWordType(n.Type, words) {
				names = n.Names
			}
		case *ast.ValueSpec:
			if isWordType(n.Type, words) {
				names = n.Names
			}
		}
		for _, id := range names {
			variables = append(variables, id.Name)
		}
		return true
	})
	isWord := func(e ast.Expr) bool {
		switch e := ast.Unparen(e).(type) {
		case *ast.SelectorExpr:
			return slices.Contains(words, e.Sel.Name)
		case *ast.Ident:
			return slices.Contains(variables, e.Name)
		}
		return false
	}
	shiftsOrMasks := []token.Token{
		token.SHL, token.SHR, token.AND, token.OR, token.XOR, token.AND_NOT,
		token.SHL_ASSIGN, token.SHR_ASSIGN, token.AND_ASSIGN, token.OR_ASSIGN, token.XOR_ASSIGN, token.AND_NOT_ASSIGN,
	}
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			fun := ast.Unparen(n.Fun)
			if x, ok := fun.(*ast.IndexExpr); ok {
				fun = x.X
			}
			switch id, _ := fun.(*ast.Ident); {
			case isRegs(fun, "Raw"), isRegs(fun, "FromRaw"):
				at = append(at, n.Pos())
			case len(n.Args) != 1:
			case isWordType(fun, words), id != nil && id.Name == "uint32" && isWord(n.Args[0]):
				at = append(at, n.Pos())
			}
		case *ast.BinaryExpr:
			if slices.Contains(shiftsOrMasks, n.Op) && (isWord(n.X) || isWord(n.Y)) {
				at = append(at, n.Pos())
			}
		case *ast.AssignStmt:
			if slices.Contains(shiftsOrMasks, n.Tok) && isWord(n.Lhs[0]) {
				at = append(at, n.Pos())
			}
		}
		return true
	})
	return at
}

// isRegs reports whether e is the name of package regs.
func isRegs(e ast.Expr, name string) bool {
	s, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := s.X.(*ast.Ident)
	return ok && pkg.Name == "regs" && s.Sel.Name == name
}

// isWordType reports whether e is the type of a register's word, such as regs.ConvCfg, or regs.PECfg
// for the register Cfg of one group.
func isWordType(e ast.Expr, words []string) bool {
	for _, w := range words {
		if isRegs(e, w) {
			return true
		}
		for _, group := range [...]string{"Common", "L2", "PE"} {
			if isRegs(e, group+w) {
				return true
			}
		}
	}
	return false
}

// What units did before words were opaque is found, and names of fields are not.
func TestPositionUses(t *testing.T) {
	for _, tc := range []struct {
		body string
		want int
	}{
		{"func f(w regs.ChCfg) regs.Format { return regs.Format(uint32(w) >> 2 & 3) }", 1},
		{"func f(w Words) bool { return w.Cfg&cfgReLU != 0 }", 1},
		{"func f(w Words) Op { return Op(w.Cfg >> cfgOpShift & cfgOpMask) }", 1},
		{`var l = []mask{{"Common.ChCfg", uint32(c.ChCfg), 0x3f}, {"NE.MACCfg", uint32(n.MACCfg), 0x171e1f}}`, 2},
		{"func f(g *regs.Groups) { g.L2.Cfg |= 1 << 5 }", 1},
		{"func f(g *regs.Groups) uint32 { return regs.Raw(g.PE.Cfg) }", 1},
		{"func f(w regs.PECfg) bool { return w&2 != 0 }", 1},
		{"func f() regs.ConvCfg { return regs.FromRaw[regs.ConvCfg](0x421) }", 1},
		{"func f() regs.DMAWord { return regs.DMAWord(64) }", 1},
		{"func f(g *regs.Groups) int { return int(g.Common.Cin.Cin()) >> 4 }", 0},
		{"func f(g *regs.Groups) bool { return g.PE.Cfg.IsZero() && g.L2.Cfg.PaddingMode() == 1 }", 0},
		{"func f(g *regs.Groups) regs.ConvCfg { return g.Common.ConvCfg.WithKw(3) }", 0},
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "p.go", "package p\n"+tc.body, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(positionUses(f, registerNames(t))); got != tc.want {
			t.Errorf("%d uses in %s, want %d", got, tc.body, tc.want)
		}
	}
}

// Fields behind meanings, which the reader of a stream fills (regs.Meanings): a unit that asks for
// one of them depends on the generation whose words have it.
var behindMeanings = []string{"DepMode", "TaskNID"}

func TestUnitsAskForMeanings(t *testing.T) {
	for _, s := range sources(t) {
		if !isUnit(s.dir()) {
			continue
		}
		for _, at := range callsOf(s.file, behindMeanings) {
			t.Errorf("%s:%d asks for a field that only the M1 has; want a meaning, such as Source1On or Planar", s.path, s.line(at))
		}
	}
	const text = `package p
func f(g *regs.Groups) bool { return g.TileDMASrc.Src1DMAConfig.DepMode() != 0 || g.Common.TaskInfo.TaskNID() == 0 || g.Planar() }
`
	f, err := parser.ParseFile(token.NewFileSet(), "p.go", text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(callsOf(f, behindMeanings)); n != 2 {
		t.Errorf("%d calls found in %s, want 2", n, text)
	}
}

// callsOf returns the calls of methods with the given names in a file.
func callsOf(f *ast.File, methods []string) (at []token.Pos) {
	ast.Inspect(f, func(n ast.Node) bool {
		if c, ok := n.(*ast.CallExpr); ok {
			if s, ok := c.Fun.(*ast.SelectorExpr); ok && slices.Contains(methods, s.Sel.Name) {
				at = append(at, n.Pos())
			}
		}
		return true
	})
	return at
}
