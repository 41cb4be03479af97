package house

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the picture of the house to ARCHITECTURE.md")

// The picture in ARCHITECTURE.md is between these lines.
const (
	pictureBegin = "<!-- the picture: go test ./tools/house -update -->\n```\n"
	pictureEnd   = "```\n<!-- end of the picture -->\n"
)

// The picture in ARCHITECTURE.md shows the actual imports.
func TestPicture(t *testing.T) {
	name := filepath.Join(root, "ARCHITECTURE.md")
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begun := strings.Cut(string(b), pictureBegin)
	old, after, ended := strings.Cut(rest, pictureEnd)
	if !begun || !ended {
		t.Fatalf("%s has no picture between %q and %q", name, pictureBegin, pictureEnd)
	}
	want := picture(rooms(t))
	if d := cmp.Diff(want, old); d != "" && !*update {
		t.Errorf("the picture of the house has drifted; go test ./tools/house -update writes it (-imports +shown):\n%s", d)
	}
	if *update {
		text := before + pictureBegin + want + pictureEnd + after
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// rooms returns the rooms that each room imports.
func rooms(t *testing.T) map[string]map[string]bool {
	graph := make(map[string]map[string]bool)
	imports(t, func(from *source, pkg string) {
		here := room(from.dir())
		if graph[here] == nil {
			graph[here] = make(map[string]bool)
		}
		if there := room(pkg); pkg != "" && there != here {
			graph[here][there] = true
		}
	})
	return graph
}

// picture draws the rooms as text, with the ones that import nothing at the bottom. A room lists
// the rooms that it imports, except those that these import themselves.
func picture(graph map[string]map[string]bool) string {
	level := make(map[string]int)
	var height func(r string) int
	height = func(r string) int {
		if n, ok := level[r]; ok {
			return n
		}
		n := 0
		for s := range graph[r] {
			n = max(n, height(s)+1)
		}
		level[r] = n
		return n
	}
	var below func(r, s string) bool // s is among what r stands on
	below = func(r, s string) bool {
		for x := range graph[r] {
			if x == s || below(x, s) {
				return true
			}
		}
		return false
	}
	var names []string
	top, width := 0, 0
	for r := range graph {
		names = append(names, r)
		top, width = max(top, height(r)), max(width, len(title(r)))
	}
	slices.Sort(names)
	var b strings.Builder
	for n := top; n >= 0; n-- {
		for _, r := range names {
			if level[r] != n {
				continue
			}
			var on []string
			for s := range graph[r] {
				direct := true
				for x := range graph[r] {
					direct = direct && !below(x, s)
				}
				if direct {
					on = append(on, title(s))
				}
			}
			slices.Sort(on)
			line := fmt.Sprintf("%d  %-*s ", n, width, title(r))
			if len(on) > 0 {
				line += "on  " + strings.Join(on, "  ")
			}
			fmt.Fprintln(&b, strings.TrimRight(line, " "))
		}
	}
	return b.String()
}

// title returns the name of a room in the picture.
func title(room string) string {
	if room == "." {
		return module
	}
	return room
}
