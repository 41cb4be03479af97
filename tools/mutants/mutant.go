package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
)

// A mutant is a copy of the package in which the operator at one place is replaced by another.
type mutant struct {
	id        int
	file      string
	line, col int
	off       int // byte offset of the operator in the file
	from, to  token.Token
	kind      string
	status    string
	in        *ast.FuncDecl // nil outside functions
	same      *mutant       // an earlier mutant with the same change; gremlins counts both
}

// Status of a mutant.
const (
	killed     = "KILLED"
	unbuilt    = "UNBUILT"
	lived      = "LIVED"
	timedOut   = "TIMED OUT"
	notCovered = "NOT COVERED"
	leftOut    = "LEFT OUT"
)

func (m *mutant) String() string {
	return fmt.Sprintf("%s %s at %s:%d:%d", m.status, m.kind, m.file, m.line, m.col)
}

// A change is one of gremlins' kinds of mutants. It maps each operator that it replaces to the
// replacement.
type change struct {
	kind string
	to   map[token.Token]token.Token
}

// changes lists the default changes of gremlins in its order.
var changes = []change{
	{"INVERT_NEGATIVES", map[token.Token]token.Token{token.SUB: token.ADD}},
	{"ARITHMETIC_BASE", map[token.Token]token.Token{
		token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL, token.REM: token.MUL,
	}},
	{"CONDITIONALS_BOUNDARY", map[token.Token]token.Token{
		token.GEQ: token.GTR, token.GTR: token.GEQ, token.LEQ: token.LSS, token.LSS: token.LEQ,
	}},
	{"CONDITIONALS_NEGATION", map[token.Token]token.Token{
		token.EQL: token.NEQ, token.NEQ: token.EQL, token.GEQ: token.LSS, token.LSS: token.GEQ, token.GTR: token.LEQ, token.LEQ: token.GTR,
	}},
	{"INCREMENT_DECREMENT", map[token.Token]token.Token{token.INC: token.DEC, token.DEC: token.INC}},
}

// A source is an unchanged file of the package.
type source struct {
	name string
	text []byte
	tree *ast.File
}

// parseFiles parses the named files of a package in dir.
func parseFiles(set *token.FileSet, dir string, names []string) ([]source, error) {
	var list []source
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		tree, err := parser.ParseFile(set, name, text, 0)
		if err != nil {
			return nil, err
		}
		list = append(list, source{name, text, tree})
	}
	return list, nil
}

// findMutants returns all mutants of the files, in the order of the source. If two kinds of changes
// give the same text, the second mutant refers to the first.
func findMutants(set *token.FileSet, files []source) (list []*mutant) {
	for _, f := range files {
		for _, d := range f.tree.Decls {
			in, _ := d.(*ast.FuncDecl)
			ast.Inspect(d, func(n ast.Node) bool {
				op, pos := findOperator(n)
				p := set.Position(pos)
				var first *mutant
				for _, c := range changes {
					to, ok := c.to[op]
					if !ok {
						continue
					}
					m := &mutant{
						id: len(list) + 1, file: f.name, line: p.Line, col: p.Column, off: p.Offset,
						from: op, to: to, kind: c.kind, in: in,
					}
					if first != nil && first.to == to {
						m.same = first
					}
					first = m
					list = append(list, m)
				}
				return true
			})
		}
	}
	return list
}

func findOperator(n ast.Node) (token.Token, token.Pos) {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		return n.Op, n.OpPos
	case *ast.UnaryExpr:
		return n.Op, n.OpPos
	case *ast.IncDecStmt:
		return n.Tok, n.TokPos
	case *ast.AssignStmt:
		return n.Tok, n.TokPos
	}
	return token.ILLEGAL, token.NoPos
}

// applyTo returns text with the mutant's operator replaced. The text begins at the given offset in
// the mutant's file.
func (m *mutant) applyTo(text []byte, offset int) []byte {
	off := m.off - offset
	b := append([]byte(nil), text[:off]...)
	b = append(b, " "+m.to.String()+" "...) // spaces keep it apart from its neighbors, as in a - -b
	return append(b, text[off+len(m.from.String()):]...)
}
