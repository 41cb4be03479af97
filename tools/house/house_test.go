package house

import (
	_ "embed"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	module = "anesim"
	root   = "../.."
)

//go:embed plan.txt
var plan string

// allowed is what each room may import, by plan.txt.
var allowed = readPlan(plan)

func readPlan(plan string) map[string][]string {
	m := map[string][]string{}
	for line := range strings.Lines(plan) {
		if line[0] == '#' {
			continue
		}
		room, imports, _ := strings.Cut(strings.TrimSpace(line), ":")
		m[room] = strings.Fields(imports)
	}
	return m
}

// room is the entry of allowed that a directory falls under.
func room(dir string) string {
	for d := dir; ; d = path.Dir(d) {
		if _, ok := allowed[d]; ok && (d != "." || dir == ".") {
			return d
		}
		if d == "." {
			return ""
		}
	}
}

type importer struct{ dir, file string }

// imports yields every import of ours in files that are not tests.
func imports(t *testing.T, visit func(from importer, pkg string)) {
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
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		from := importer{filepath.ToSlash(filepath.Dir(rel)), filepath.ToSlash(rel)}
		visit(from, "")
		for _, s := range f.Imports {
			p, err := strconv.Unquote(s.Path.Value)
			if err != nil {
				return err
			}
			if ours, ok := strings.CutPrefix(p, module+"/"); ok {
				visit(from, ours)
			} else if p == module {
				visit(from, ".")
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestImportsFollowThePlan(t *testing.T) {
	seen := make(map[string]bool)
	imports(t, func(from importer, pkg string) {
		here := room(from.dir)
		if here == "" {
			t.Errorf("%s stands in no room of the plan", from.file)
			return
		}
		seen[here] = true
		if pkg == "" {
			return
		}
		there := room(pkg)
		switch {
		case there == here:
		case strings.HasPrefix(there, "tools/"):
			t.Errorf("%s: nothing may import %s", from.file, pkg)
		case slices.Contains(allowed[here], "*"), slices.Contains(allowed[here], there):
		default:
			t.Errorf("%s: room %s may not import %s", from.file, here, pkg)
		}
	})
	for r := range allowed {
		if !seen[r] && r != "tools/house" {
			t.Errorf("room %s has no code", r)
		}
	}
}

// The plan permits what the code imports and no more.
func TestEveryPermissionIsUsed(t *testing.T) {
	for _, p := range unused(allowed, rooms(t)) {
		t.Errorf("plan.txt permits %s, which no file imports; remove the permission", p)
	}
}

// unused returns the permissions of a plan that no import needs, such as "hw/planar: hw/regs",
// sorted. A "*" is not one.
func unused(plan map[string][]string, imported map[string]map[string]bool) []string {
	var list []string
	for here, rooms := range plan {
		for _, there := range rooms {
			if there != "*" && !imported[here][there] {
				list = append(list, here+": "+there)
			}
		}
	}
	slices.Sort(list)
	return list
}

func TestUnused(t *testing.T) {
	plan := readPlan("# who may import whom\na:\nb: a\nc: a b\nd: *\n")
	imported := map[string]map[string]bool{"c": {"b": true}, "d": {"a": true}}
	if got, want := unused(plan, imported), []string{"b: a", "c: a"}; !slices.Equal(got, want) {
		t.Errorf("permissions that nobody uses: %q, want %q", got, want)
	}
}

// Every package tells its story.
func TestEveryPackageHasADoc(t *testing.T) {
	docs, main := make(map[string]bool), make(map[string]bool)
	imports(t, func(from importer, pkg string) {
		if pkg != "" {
			return
		}
		docs[from.dir] = docs[from.dir] || path.Base(from.file) == "doc.go"
		main[from.dir] = main[from.dir] || path.Base(from.file) == "main.go"
	})
	for dir, ok := range docs {
		if !ok && !main[dir] {
			t.Errorf("package %s has no doc.go", dir)
		}
	}
}
