package rules

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strconv"
)

// A Rule is a message of a reader.
type Rule struct {
	Place  string // file and line
	Format string
	match  *regexp.Regexp
}

// Of finds the rules in Go files: the string literal among the arguments of each call of
// a function or method of one of the names.
func Of(names []string, files ...string) ([]Rule, error) {
	var out []Rule
	for _, name := range files {
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			return nil, err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || !slices.Contains(names, called(call)) {
				return true
			}
			for _, a := range call.Args {
				l, ok := a.(*ast.BasicLit)
				if !ok || l.Kind != token.STRING {
					continue
				}
				format, err := strconv.Unquote(l.Value)
				if err != nil {
					return true
				}
				p := set.Position(call.Pos())
				out = append(out, Rule{fmt.Sprintf("%s:%d", p.Filename, p.Line), format, pattern(format)})
				break
			}
			return true
		})
	}
	return out, nil
}

// called is the name of the function or method that a call is of.
func called(c *ast.CallExpr) string {
	switch f := c.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

var verb = regexp.MustCompile(`%(\[\d+\])?[#+]?[a-zA-Z]`)

// pattern matches what a format prints.
func pattern(format string) *regexp.Regexp {
	text := ""
	for at := 0; ; {
		v := verb.FindStringIndex(format[at:])
		if v == nil {
			return regexp.MustCompile("(?s)" + text + regexp.QuoteMeta(format[at:]))
		}
		text += regexp.QuoteMeta(format[at:at+v[0]]) + ".*"
		at += v[1]
	}
}

// Broken reports whether one of the messages is the rule's.
func (r *Rule) Broken(messages []string) bool {
	return slices.ContainsFunc(messages, r.match.MatchString)
}
