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

// A Rule is a check that a reader makes on its input. It is identified by the format of the error
// message for input that fails the check.
type Rule struct {
	Place  string // file and line
	Format string // of the message, as for fmt.Sprintf
	match  *regexp.Regexp
}

// Find returns the rules in the given Go source files. Each call of a function in names, such as
// errorf, is a rule. Its format is the first string literal among the arguments. Calls without a
// string literal are left out. Find returns an error if a file cannot be parsed.
func Find(names []string, files ...string) ([]Rule, error) {
	var out []Rule
	for _, name := range files {
		set := token.NewFileSet()
		// The rules are read from the source, so that a message that is added cannot be missing from the
		// list that tests go through.
		f, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			return nil, err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || !slices.Contains(names, calleeName(call)) {
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
				out = append(out, Rule{fmt.Sprintf("%s:%d", p.Filename, p.Line), format, compilePattern(format)})
				break
			}
			return true
		})
	}
	return out, nil
}

// calleeName returns the name of the called function or method, or "".
func calleeName(c *ast.CallExpr) string {
	switch f := c.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

// verb matches a formatting verb such as %d or %[1]#x.
var verb = regexp.MustCompile(`%(\[\d+\])?[#+]?[a-zA-Z]`)

// compilePattern returns a regular expression that matches the results of fmt.Sprintf for format
// and any arguments.
func compilePattern(format string) *regexp.Regexp {
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

// ViolatedBy reports whether one of the error messages has the format of rule r. A test that
// produces such a message covers the rule.
func (r *Rule) ViolatedBy(messages []string) bool {
	return slices.ContainsFunc(messages, r.match.MatchString)
}
