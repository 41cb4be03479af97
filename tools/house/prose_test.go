package house

import (
	"bytes"
	_ "embed"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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

// A wing is a directory of the module's root. A share of its long bodies has a comment, which should only
// rise.
type wing struct {
	name  string
	floor float64 // percentage of the functions of longBody lines or more
}

// longBody is the number of lines from which the body of a function should say a reason: a body of this length
// decides something.
const longBody = 30

// A bannedPhrase is a phrase that a comment or message must not contain.
type bannedPhrase struct {
	pattern *regexp.Regexp
	instead string
}

// A double is a second word for a thing. Its number in pages, comments and messages may only fall.
type double struct {
	pattern *regexp.Regexp
	instead string
	ceiling int // occurrences
	line    string
}

// readProse parses prose.txt: lines "habit NAME CEILING", "bodies WING FLOOR", "banned PATTERN => INSTEAD" and
// "double CEILING PATTERN => INSTEAD".
func readProse(t *testing.T, text string) (habits []habit, wings []wing, banned []bannedPhrase, doubles []double) {
	t.Helper()
	for i, line := range strings.Split(text, "\n") {
		kind, rest, _ := strings.Cut(line, " ")
		switch kind {
		case "", "#":
		case "habit", "bodies":
			name, number, _ := strings.Cut(rest, " ")
			x, err := strconv.ParseFloat(number, 64)
			if err != nil {
				t.Fatalf("prose.txt:%d: %v", i+1, err)
			}
			if kind == "habit" {
				habits = append(habits, habit{name, x})
			} else {
				wings = append(wings, wing{name, x})
			}
		case "banned":
			pattern, instead, ok := strings.Cut(rest, " => ")
			if !ok {
				t.Fatalf("prose.txt:%d: found %q, want \"banned PATTERN => INSTEAD\"", i+1, line)
			}
			banned = append(banned, bannedPhrase{regexp.MustCompile(pattern), instead})
		case "double":
			ceiling, rest, _ := strings.Cut(rest, " ")
			pattern, instead, ok := strings.Cut(rest, " => ")
			n, err := strconv.Atoi(ceiling)
			if !ok || err != nil {
				t.Fatalf("prose.txt:%d: found %q, want \"double CEILING PATTERN => INSTEAD\"", i+1, line)
			}
			doubles = append(doubles, double{regexp.MustCompile(pattern), instead, n, line})
		default:
			t.Fatalf("prose.txt:%d: unknown rule %q", i+1, kind)
		}
	}
	return habits, wings, banned, doubles
}

// updateProse replaces a line of prose.txt. It reads the file again, because several tests may change it.
func updateProse(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile("prose.txt")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("prose.txt", bytes.Replace(b, []byte(from), []byte(to), 1), 0o666); err != nil {
		t.Fatal(err)
	}
}

// written returns the source files that are not generated.
func written(t *testing.T) (list []*source) {
	t.Helper()
	for _, s := range sources(t) {
		if !s.generated {
			list = append(list, s)
		}
	}
	return list
}

// docs calls visit for the doc comment of every function, method and type of f. It skips main, init
// and types that share one comment in a group.
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
	for _, s := range written(t) {
		docs(s.file, func(name string, doc *ast.CommentGroup) {
			if text := doc.Text(); text != "" && !beginsWith(text, name) {
				line, _, _ := strings.Cut(text, "\n")
				t.Errorf("%s:%d: the comment of %s begins %q; want it to begin with the name", s.path, s.line(doc.Pos()), name, line)
			}
		})
	}
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
	_, _, banned, _ := readProse(t, proseRules)
	check := func(path string, line int, text string) {
		for _, b := range banned {
			if m := b.pattern.FindString(text); m != "" {
				t.Errorf("%s:%d: found %q; write %s", path, line, m, b.instead)
			}
		}
	}
	for _, s := range written(t) {
		for _, g := range s.file.Comments {
			check(s.path, s.line(g.Pos()), strings.Join(strings.Fields(g.Text()), " "))
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
				check(s.path, s.line(l.Pos()), l.Value)
			}
			return true
		})
	}
}

// The rates of overused words should only fall: a lower rate becomes the new ceiling with -update. A higher
// one is only reported, for a change of a few lines cannot know the rate of the whole, until it is half as
// high again.
func TestHabitsOnlyFall(t *testing.T) {
	habits, _, _, _ := readProse(t, proseRules)
	var words, comments, isAre int
	found := map[string]int{}
	for _, s := range written(t) {
		docs(s.file, func(name string, doc *ast.CommentGroup) {
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
	}
	for _, h := range habits {
		rate := 1e4 * float64(found[h.name]) / float64(words)
		of := "words"
		if h.name == "is" {
			rate, of = 1e4*float64(isAre)/float64(comments), "comments of the form \"Name is\""
		}
		rate = math.Ceil(rate*10) / 10
		switch {
		case rate > 1.5*h.ceiling && rate > h.ceiling+1:
			t.Errorf("%q occurs %.1f times in 10,000 %s of doc comments; want at most %.1f", h.name, rate, of, h.ceiling)
		case rate > h.ceiling:
			t.Logf("%q occurs %.1f times in 10,000 %s of doc comments; want at most %.1f", h.name, rate, of, h.ceiling)
		case rate < h.ceiling && *update:
			updateProse(t, fmt.Sprintf("habit %s %.1f\n", h.name, h.ceiling), fmt.Sprintf("habit %s %.1f\n", h.name, rate))
		case rate < h.ceiling/2 && h.ceiling > 5: // a rare word may come and go
			t.Errorf("%q occurs %.1f times in 10,000 %s of doc comments, less than the %.1f on record; "+
				"go test ./tools/house -run Habits -update lowers the record", h.name, rate, of, h.ceiling)
		}
	}
}

// longBodies calls visit for each function of f whose body has longBody lines or more. says reports whether
// there is a comment inside.
func longBodies(fset *token.FileSet, f *ast.File, visit func(fn *ast.FuncDecl, says bool)) {
	for _, decl := range f.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || fn.Body == nil || fset.Position(fn.Body.Rbrace).Line-fset.Position(fn.Body.Lbrace).Line < longBody {
			continue
		}
		visit(fn, slices.ContainsFunc(f.Comments, func(g *ast.CommentGroup) bool {
			return g.Pos() > fn.Body.Lbrace && g.End() < fn.Body.Rbrace
		}))
	}
}

func TestLongBodies(t *testing.T) {
	body := strings.Repeat("x++\n", longBody-1)
	for _, tc := range []struct {
		text       string
		long, says bool
	}{
		{"func f() {\n" + body + "}", true, false},
		{"func f() {\n// Once more.\n" + body + "}", true, true},
		{"// f adds.\nfunc f() {\n" + body + "} // the end", true, false},
		{"func f() {\n// Once more.\n}", false, false},
		{"func f()", false, false},
	} {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, "", "package p\n"+tc.text, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		long, says := false, false
		longBodies(fset, f, func(_ *ast.FuncDecl, s bool) { long, says = true, s })
		if long != tc.long || says != tc.says {
			t.Errorf("%.30q...: long %v, says %v; want %v, %v", tc.text, long, says, tc.long, tc.says)
		}
	}
}

// The share of long bodies that say a reason should only rise: -update records a higher one. A lower one is
// reported with the bodies that say nothing, and fails once it is 10 points below the record. A comment that
// repeats the code is counted too: only a reader can tell.
func TestLongBodiesSayWhy(t *testing.T) {
	_, wings, _, _ := readProse(t, proseRules)
	type count struct {
		all    int
		silent []string
	}
	counts := map[string]*count{}
	for _, s := range written(t) {
		name, _, nested := strings.Cut(s.path, "/")
		if !nested {
			name = "."
		}
		longBodies(s.fset, s.file, func(fn *ast.FuncDecl, says bool) {
			if counts[name] == nil {
				counts[name] = new(count)
			}
			c := counts[name]
			if c.all++; !says {
				c.silent = append(c.silent, fmt.Sprintf("%s:%d: %s", s.path, s.line(fn.Pos()), fn.Name.Name))
			}
		})
	}
	for _, w := range wings {
		c := counts[w.name]
		if c == nil {
			t.Errorf("prose.txt: %q has no function of %d lines; remove its line \"bodies\"", w.name, longBody)
			continue
		}
		share := math.Floor(1e3*float64(c.all-len(c.silent))/float64(c.all)) / 10
		report := t.Logf
		switch {
		case share >= w.floor:
			if *update {
				updateProse(t, fmt.Sprintf("bodies %s %.1f\n", w.name, w.floor), fmt.Sprintf("bodies %s %.1f\n", w.name, share))
			}
			continue
		case share < w.floor-10:
			report = t.Errorf
		}
		report("%s: %.1f%% of the functions of %d lines or more have a comment inside; %.1f%% are on record. Without one:\n%s",
			w.name, share, longBody, w.floor, strings.Join(c.silent, "\n"))
	}
	for name, c := range counts {
		// In a directory of few functions, a single one moves the share by several points.
		if c.all >= 30 && !slices.ContainsFunc(wings, func(w wing) bool { return w.name == name }) {
			t.Errorf("prose.txt has no line \"bodies %s FLOOR\"", name)
		}
	}
}

// One thing has one word: second words for it should only become rarer. A larger number is only reported, with
// the last places, until it is half as large again; -update records a smaller one.
func TestDoublesOnlyFall(t *testing.T) {
	_, _, _, doubles := readProse(t, proseRules)
	found := make([]int, len(doubles))
	last := make([][]string, len(doubles))
	check := func(where, text string) {
		for i, d := range doubles {
			if n := len(d.pattern.FindAllStringIndex(text, -1)); n > 0 {
				found[i] += n
				last[i] = append(last[i], where)
			}
		}
	}
	for _, s := range written(t) {
		for _, g := range s.file.Comments {
			check(fmt.Sprintf("%s:%d", s.path, s.line(g.Pos())), g.Text())
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
				check(fmt.Sprintf("%s:%d", s.path, s.line(l.Pos())), l.Value)
			}
			return true
		})
	}
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(pages, filepath.Join(root, "README.md"), filepath.Join(root, "ARCHITECTURE.md"), filepath.Join(root, "CONTRIBUTING.md"), filepath.Join(root, "RATIONALE.md")) {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(name) != "glossary.md" { // it explains second words
			check(filepath.Base(name), string(b))
		}
	}
	for i, d := range doubles {
		report := t.Logf
		switch {
		case found[i] > d.ceiling+2+d.ceiling/2:
			report = t.Errorf
			fallthrough
		case found[i] > d.ceiling:
			report("%v occurs %d times, on record are %d; write %s. Among them: %s", d.pattern, found[i], d.ceiling, d.instead, strings.Join(last[i][max(0, len(last[i])-5):], ", "))
		case found[i] < d.ceiling && *update:
			updateProse(t, d.line, strings.Replace(d.line, fmt.Sprint("double ", d.ceiling), fmt.Sprint("double ", found[i]), 1))
		}
	}
}
