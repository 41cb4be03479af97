package command

import (
	"encoding/json"
	"fmt"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"anesim/internal/network/onnxtest"
)

// An extension is an example of docs/extending.md: what it changes, the files that its commands
// read, and lines of which every output has a part.
type extension struct {
	title    string
	prose    string
	changes  string
	files    map[string]string
	commands []string
	prints   [][]string // of each command
}

// extensions returns the examples in the named page.
func extensions(t *testing.T, page string) (list []extension) {
	t.Helper()
	for _, section := range strings.Split(page, "\n### Example: ")[1:] {
		section, _, _ = strings.Cut(section, "\n## ")
		parts := strings.Split(section, "\n```")
		x := extension{files: map[string]string{}}
		x.title, x.prose, _ = strings.Cut(parts[0], "\n")
		for _, part := range parts[1:] {
			info, text, _ := strings.Cut(part, "\n")
			kind, name, _ := strings.Cut(info, " ")
			switch {
			case kind == "diff":
				x.changes = text
			case kind == "patched":
				for line := range strings.Lines(text + "\n") {
					line = strings.TrimSuffix(line, "\n")
					if command, ok := strings.CutPrefix(line, "$ anesim "); ok {
						x.commands, x.prints = append(x.commands, command), append(x.prints, nil)
					} else if n := len(x.prints) - 1; line != "" {
						x.prints[n] = append(x.prints[n], line)
					}
				}
			case name != "":
				x.files[name] = text + "\n"
			}
		}
		if x.changes == "" || len(x.commands) == 0 {
			t.Fatalf("%s: no change or no command", x.title)
		}
		list = append(list, x)
	}
	return list
}

// apply makes an example's changes to files under root, on top of the changes in changed, and
// stores the new contents there.
func (x *extension) apply(root string, changed map[string]string) error {
	for _, file := range strings.Split("\n"+x.changes, "\n--- ")[1:] {
		hunks := strings.Split(file+"\n", "\n@@\n")
		_, name, _ := strings.Cut(hunks[0], "\n+++ b/")
		text, ok := changed[name]
		if !ok && !strings.HasPrefix(hunks[0], "/dev/null") {
			b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
			if err != nil {
				return err
			}
			text = string(b)
		}
		if !strings.Contains(x.prose, "`"+name+"`") {
			return fmt.Errorf("%s is changed, and not among the files that are named", name)
		}
		for _, hunk := range hunks[1:] {
			var before, after strings.Builder
			for line := range strings.Lines(strings.TrimSuffix(hunk, "\n") + "\n") {
				if line[0] != '+' {
					before.WriteString(line[1:])
				}
				if line[0] != '-' {
					after.WriteString(line[1:])
				}
			}
			if n := strings.Count("\n"+text, "\n"+before.String()); before.Len() > 0 && n != 1 {
				return fmt.Errorf("%s has %d times\n%s", name, n, before.String())
			}
			if before.Len() == 0 {
				text += after.String()
				continue
			}
			text = strings.Replace("\n"+text, "\n"+before.String(), "\n"+after.String(), 1)[1:]
		}
		changed[name] = text
	}
	return nil
}

// The examples of how to add things fit the tree, are formatted, name all files that they
// change, compile together, and do what the page says, which the program without them does not.
func TestExtending(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", "..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "extending.md"))
	if err != nil {
		t.Fatal(err)
	}
	list, changed := extensions(t, string(page)), map[string]string{}
	if len(list) != 4 {
		t.Fatalf("%d examples, want an operator, a fusion, a layer and a column", len(list))
	}
	for i := range list {
		if err := list[i].apply(root, changed); err != nil {
			t.Errorf("%s: %v", list[i].title, err)
		}
	}
	for _, m := range regexp.MustCompile("`([a-z0-9_]+/[a-z0-9_/]+\\.[a-z]+)`").FindAllStringSubmatch(string(page), -1) {
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(m[1]))); err != nil && changed[m[1]] == "" {
			t.Errorf("the page names %s, which is not there", m[1])
		}
	}
	for name, text := range changed {
		if !strings.HasSuffix(name, ".go") {
			continue
		}
		if b, err := format.Source([]byte(text)); err != nil || string(b) != text {
			t.Errorf("%s is not as gofmt has it: %v", name, err)
		}
	}
	if t.Failed() || testing.Short() {
		return
	}
	dir := t.TempDir()
	program := overlaid(t, root, dir, changed)
	t.Chdir(dir)
	if err := os.WriteFile("squared.onnx", onnxtest.Model(onnxtest.Input("x", 1, 4, 2, 2), onnxtest.Node("SquaredRelu", "y", []string{"x"}), onnxtest.Output("y")), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, x := range list {
		for name, text := range x.files {
			if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		for i, command := range x.commands {
			out, err := exec.Command(program, strings.Fields(command)...).CombinedOutput()
			if err != nil {
				t.Errorf("%s: anesim %s: %v: %s", x.title, command, err, out)
			}
			plain, _, _ := invoke(strings.Fields(command)...)
			same := true
			for _, want := range x.prints[i] {
				if !strings.Contains(string(out), want) {
					t.Errorf("%s: anesim %s prints no %q: %s", x.title, command, want, out)
				}
				same = same && strings.Contains(plain, want)
			}
			if same {
				t.Errorf("%s: anesim %s prints the same without the change", x.title, command)
			}
		}
	}
}

// overlaid builds the anesim command with the contents of changed in place of some files, and
// returns the name of the binary.
func overlaid(t *testing.T, root, dir string, changed map[string]string) (program string) {
	t.Helper()
	replace := map[string]string{}
	for name, text := range changed {
		file := filepath.Join(dir, strings.ReplaceAll(name, "/", "_"))
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(root, filepath.FromSlash(name))] = file
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlay, b, 0o666); err != nil {
		t.Fatal(err)
	}
	program = filepath.Join(dir, "anesim.exe")
	c := exec.Command("go", "build", "-overlay", overlay, "-o", program, "./tools/anesim")
	c.Dir = root
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}
