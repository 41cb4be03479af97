package house

import (
	_ "embed"
	"path"
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

// allowed has the rooms that each room may import, from plan.txt.
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

// room returns the nearest parent directory of dir that plan.txt lists, or "" if there is none.
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

// imports calls visit for every source file with an empty pkg, and then once for each package of
// the module that the file imports, with the directory of the package.
func imports(t *testing.T, visit func(from *source, pkg string)) {
	t.Helper()
	for _, from := range sources(t) {
		visit(from, "")
		for _, s := range from.file.Imports {
			p, err := strconv.Unquote(s.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if ours, ok := strings.CutPrefix(p, module+"/"); ok {
				visit(from, ours)
			} else if p == module {
				visit(from, ".")
			}
		}
	}
}

func TestImportsFollowThePlan(t *testing.T) {
	seen := make(map[string]bool)
	imports(t, func(from *source, pkg string) {
		here := room(from.dir())
		if here == "" {
			t.Errorf("%s is in no room of plan.txt", from.path)
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
			t.Errorf("%s: nothing may import %s", from.path, pkg)
		case slices.Contains(allowed[here], "*"), slices.Contains(allowed[here], there):
		default:
			t.Errorf("%s: room %s may not import %s", from.path, here, pkg)
		}
	})
	for r := range allowed {
		if !seen[r] && r != "tools/house" {
			t.Errorf("room %s has no code", r)
		}
	}
}

// The plan has no permission that the code does not use.
func TestEveryPermissionIsUsed(t *testing.T) {
	for _, p := range unused(allowed, rooms(t)) {
		t.Errorf("plan.txt permits %s, which no file imports; remove the permission", p)
	}
}

// unused returns the permissions of a plan that no import needs, such as "internal/datapath/planar: hw/regs",
// sorted. It ignores "*".
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

// Every package has a doc.go, except commands with a main.go.
func TestEveryPackageHasADoc(t *testing.T) {
	docs, main := make(map[string]bool), make(map[string]bool)
	imports(t, func(from *source, pkg string) {
		if pkg != "" {
			return
		}
		docs[from.dir()] = docs[from.dir()] || path.Base(from.path) == "doc.go"
		main[from.dir()] = main[from.dir()] || path.Base(from.path) == "main.go"
	})
	for dir, ok := range docs {
		if !ok && !main[dir] {
			t.Errorf("package %s has no doc.go", dir)
		}
	}
}
