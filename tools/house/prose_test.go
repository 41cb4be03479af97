package house

import (
	_ "embed"
	"fmt"
	"go/ast"
	"go/token"
	"math"
	"os"
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
	_, banned := readProse(t, proseRules)
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
	habits, _ := readProse(t, proseRules)
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
	text := proseRules
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
