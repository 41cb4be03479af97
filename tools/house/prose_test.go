package house

import (
	"bytes"
	_ "embed"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// proseRules lists the habits that the comments count and the phrases that they avoid.
//
//go:embed prose.txt
var proseRules string

// A habit is a word or form that comments overuse. Its rate may only fall.
type habit struct {
	name    string
	ceiling float64 // occurrences per 10,000 words, or per 10,000 comments for "is"
}

// A bannedPhrase is a phrase that a comment or message must not contain.
type bannedPhrase struct {
	pattern *regexp.Regexp
	instead string
}

// readProse parses prose.txt: lines "habit NAME CEILING" and "banned PATTERN => INSTEAD".
func readProse(t *testing.T, text string) (habits []habit, banned []bannedPhrase) {
	t.Helper()
	for i, line := range strings.Split(text, "\n") {
		kind, rest, _ := strings.Cut(line, " ")
		switch kind {
		case "", "#":
		case "habit":
			name, ceiling, _ := strings.Cut(rest, " ")
			c, err := strconv.ParseFloat(ceiling, 64)
			if err != nil {
				t.Fatalf("prose.txt:%d: %v", i+1, err)
			}
			habits = append(habits, habit{name, c})
		case "banned":
			pattern, instead, ok := strings.Cut(rest, " => ")
			if !ok {
				t.Fatalf("prose.txt:%d: found %q, want \"banned PATTERN => INSTEAD\"", i+1, line)
			}
			banned = append(banned, bannedPhrase{regexp.MustCompile(pattern), instead})
		default:
			t.Fatalf("prose.txt:%d: unknown rule %q", i+1, kind)
		}
	}
	return habits, banned
}

// sources parses every Go file that is neither a test nor generated and passes it to visit
// with its path below the module's root.
func sources(t *testing.T, visit func(path string, fset *token.FileSet, f *ast.File)) {
	t.Helper()
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
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
		if err != nil || bytes.Contains(src, []byte("DO NOT EDIT.\n")) {
			return err
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		visit(filepath.ToSlash(rel), fset, f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// docs calls visit for the doc comment of every function, method and type of f. It leaves out
// main, init and types that are declared in a group with one comment for all.
func docs(f *ast.File, visit func(name string, doc *ast.CommentGroup)) {
	for _, decl := range f.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if n := d.Name.Name; d.Doc != nil && n != "main" && n != "init" {
				visit(n, d.Doc)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				s, ok := spec.(*ast.TypeSpec)
				if !ok {
					continue
				}
				doc := s.Doc
				if doc == nil && len(d.Specs) == 1 {
					doc = d.Doc
				}
				if doc != nil {
					visit(s.Name.Name, doc)
				}
			}
		}
	}
}

// beginsWith reports whether the text of a doc comment begins with a name, after an article or
// "Deprecated:" if there is one.
func beginsWith(text, name string) bool {
	words := strings.Fields(text)
	for len(words) > 0 && (words[0] == "A" || words[0] == "An" || words[0] == "The" || words[0] == "Deprecated:") && words[0] != name {
		words = words[1:]
	}
	return len(words) > 0 && strings.Trim(words[0], ".,:;") == name || len(words) > 0 && strings.HasPrefix(words[0], name+"'s")
}

func TestCommentsBeginWithTheName(t *testing.T) {
	sources(t, func(path string, fset *token.FileSet, f *ast.File) {
		docs(f, func(name string, doc *ast.CommentGroup) {
			if text := doc.Text(); text != "" && !beginsWith(text, name) {
				line, _, _ := strings.Cut(text, "\n")
				t.Errorf("%s:%d: the comment of %s begins %q; want it to begin with the name", path, fset.Position(doc.Pos()).Line, name, line)
			}
		})
	})
}

func TestBeginsWith(t *testing.T) {
	for _, tc := range []struct {
		text, name string
		want       bool
	}{
		{"run starts a task.", "run", true},
		{"A Task is a descriptor.", "Task", true},
		{"Deprecated: Run does nothing.", "Run", true},
		{"A is a matrix.", "A", true},
		{"row shows.", "preset", false},
		{"", "run", false},
		{"Runs start tasks.", "Run", false},
	} {
		if got := beginsWith(tc.text, tc.name); got != tc.want {
			t.Errorf("beginsWith(%q, %q) = %v, want %v", tc.text, tc.name, got, tc.want)
		}
	}
}

// Comments and string literals avoid the phrases that prose.txt bans.
func TestBannedPhrases(t *testing.T) {
	_, banned := readProse(t, proseRules)
	check := func(path string, line int, text string) {
		for _, b := range banned {
			if m := b.pattern.FindString(text); m != "" {
				t.Errorf("%s:%d: found %q; write %s", path, line, m, b.instead)
			}
		}
	}
	sources(t, func(path string, fset *token.FileSet, f *ast.File) {
		for _, g := range f.Comments {
			check(path, fset.Position(g.Pos()).Line, strings.Join(strings.Fields(g.Text()), " "))
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
				check(path, fset.Position(l.Pos()).Line, l.Value)
			}
			return true
		})
	})
}

// The rates of overused words may only fall: a lower rate becomes the new ceiling with -update.
func TestHabitsOnlyFall(t *testing.T) {
	habits, _ := readProse(t, proseRules)
	var words, comments, isAre int
	found := map[string]int{}
	sources(t, func(path string, fset *token.FileSet, f *ast.File) {
		docs(f, func(name string, doc *ast.CommentGroup) {
			comments++
			w := strings.Fields(doc.Text())
			words += len(w)
			if len(w) > 1 && w[0] == name && (w[1] == "is" || w[1] == "are") {
				isAre++
			}
			for _, word := range w {
				found[strings.ToLower(strings.Trim(word, `.,:;()"'`))]++
			}
		})
	})
	text := proseRules
	for _, h := range habits {
		rate := 1e4 * float64(found[h.name]) / float64(words)
		of := "words"
		if h.name == "is" {
			rate, of = 1e4*float64(isAre)/float64(comments), "comments of the form \"Name is\""
		}
		rate = math.Ceil(rate*10) / 10
		switch {
		case rate > h.ceiling:
			t.Errorf("%q occurs %.1f times in 10,000 %s of doc comments; want at most %.1f", h.name, rate, of, h.ceiling)
		case rate < h.ceiling && *update:
			text = strings.Replace(text, fmt.Sprintf("habit %s %.1f", h.name, h.ceiling), fmt.Sprintf("habit %s %.1f", h.name, rate), 1)
		case rate < h.ceiling/2 && h.ceiling > 5: // a rare word may come and go
			t.Errorf("%q occurs %.1f times in 10,000 %s of doc comments, less than the %.1f on record; "+
				"go test ./tools/house -run Habits -update lowers the record", h.name, rate, of, h.ceiling)
		}
	}
	if text != proseRules {
		if err := os.WriteFile("prose.txt", []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}
