package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
)

// variable is the name of the environment variable that selects a mutant by its number. 0
// selects the unchanged code.
const variable = "MUTANT"

const switchFile = "mutantswitch_generated.go"

const switchText = `package %s

import (
	"os"
	"strconv"
)

var mutantSwitch = func() int { n, _ := strconv.Atoi(os.Getenv(%q)); return n }()
`

// lines is a range of lines in a generated file that holds a mutant's copy of its function.
type lines struct {
	first, last int
	m           *mutant
}

// addMutantSwitches returns the text of a file in which each function uses a switch to select one
// of its mutants. It also returns the lines that each mutant has in that text.
func addMutantSwitches(set *token.FileSet, f *source, list []*mutant) (text []byte, where []lines) {
	of := map[*ast.FuncDecl][]*mutant{}
	for _, m := range list {
		if m.file == f.name && m.in != nil && m.status == "" {
			of[m.in] = append(of[m.in], m)
		}
	}
	var w bytes.Buffer
	line, last := 1, 0
	put := func(b []byte) { w.Write(b); line += bytes.Count(b, []byte("\n")) }
	offset := func(p token.Pos) int { return set.Position(p).Offset }
	for _, d := range f.tree.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || len(of[fn]) == 0 {
			continue
		}
		open, end := offset(fn.Body.Lbrace)+1, offset(fn.Body.Rbrace)
		put(f.text[last:open])
		last = open
		// A function without results needs a return of its own, or its original body would run after the
		// mutant's.
		call, results, after := "", "", "; return"
		if r := fn.Type.Results; r != nil && len(r.List) > 0 {
			call, results, after = "return ", " "+string(f.text[offset(r.Pos()):offset(r.End())]), ""
		}
		put([]byte("\nswitch mutantSwitch {\n"))
		for _, m := range of[fn] {
			// The mutant is the whole body again, as a function literal: it keeps the names of parameters and
			// results, and a defer runs at its end.
			first := line
			put(fmt.Appendf(nil, "case %d: %sfunc()%s {", m.id, call, results))
			put(m.applyTo(f.text[open:end], open))
			put(fmt.Appendf(nil, "}()%s\n", after))
			where = append(where, lines{first, line - 1, m})
		}
		put([]byte("}\n"))
	}
	put(f.text[last:])
	return w.Bytes(), where
}

var message = regexp.MustCompile(`(?m)([^\s/]+\.go):(\d+):\d+: `)

// buildMutants builds a test binary with all mutants and returns its name. A mutant that does not
// compile is left out and marked as unbuilt.
func (p *pkg) buildMutants(list []*mutant) (string, error) {
	out := filepath.Join(p.temp, "mutants.test")
	for {
		replace := map[string]string{}
		where := map[string][]lines{}
		write := func(name string, text []byte) error {
			replace[filepath.Join(p.Dir, name)] = filepath.Join(p.temp, name)
			return os.WriteFile(filepath.Join(p.temp, name), text, 0o600)
		}
		for i := range p.files {
			f := &p.files[i]
			text, w := addMutantSwitches(p.set, f, list)
			where[f.name] = w
			if err := write(f.name, text); err != nil {
				return "", err
			}
		}
		if err := write(switchFile, fmt.Appendf(nil, switchText, p.Name, variable)); err != nil {
			return "", err
		}
		// -e lists all errors; without it, the compiler stops after ten, and each build would find only
		// a few mutants that do not compile.
		text, err := p.compileTests(out, replace, "-gcflags="+p.ImportPath+"=-e")
		if err == nil {
			return out, nil
		}
		marked := false
		for _, found := range message.FindAllSubmatch(text, -1) {
			at, _ := strconv.Atoi(string(found[2]))
			for _, l := range where[string(found[1])] {
				if l.first <= at && at <= l.last && l.m.status == "" {
					l.m.status, marked = unbuilt, true
				}
			}
		}
		// Nothing to leave out: the error is not a mutant's, and building again would never end.
		if !marked {
			return "", fmt.Errorf("%s: %w\n%s", p.ImportPath, err, text)
		}
	}
}

// buildAlone builds a test binary with a single mutant that is outside functions, and returns its
// name. It returns "" if the mutant does not compile.
func (p *pkg) buildAlone(m *mutant) (string, error) {
	for i := range p.files {
		if p.files[i].name != m.file {
			continue
		}
		name := filepath.Join(p.temp, "alone.go")
		if err := os.WriteFile(name, m.applyTo(p.files[i].text, 0), 0o600); err != nil {
			return "", err
		}
		out := filepath.Join(p.temp, "alone.test")
		if _, err := p.compileTests(out, map[string]string{filepath.Join(p.Dir, m.file): name}); err != nil {
			return "", nil
		}
		return out, nil
	}
	return "", fmt.Errorf("package has no file %q", m.file)
}

// compileTests builds the test binary out. The files in replace replace files of the package. It
// returns the output of the compiler.
func (p *pkg) compileTests(out string, replace map[string]string, flags ...string) ([]byte, error) {
	js, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return nil, err
	}
	overlay := filepath.Join(p.temp, "overlay.json")
	if err := os.WriteFile(overlay, js, 0o600); err != nil {
		return nil, err
	}
	args := append([]string{"test", "-c", "-vet=off", "-ldflags=-w", "-overlay", overlay, "-o", out}, flags...)
	return exec.Command("go", append(args, p.tests.ImportPath)...).CombinedOutput()
}
