package house

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// windowsOnly has the modules that only a build for Windows contains.
const windowsOnly = "github.com/inconshreveable/mousetrap"

const noticesFile = "THIRD_PARTY_NOTICES"

const noticesHead = `The command anesim contains the following modules of others, under their licenses. Who passes on a
binary passes on this file with it. go test ./tools/house -run Notices -update writes it.
`

// A binaryModule is a module that the command contains.
type binaryModule struct{ path, version, dir string }

// runGo returns what the go command prints with the given arguments at the module's root.
func runGo(t *testing.T, args ...string) string {
	t.Helper()
	c := exec.Command("go", args...)
	c.Dir, c.Stderr = root, os.Stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("go %s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}

// listBinaryModules returns the modules of others that the command contains, sorted by their paths.
// Their directory is "" if it is not in the cache of modules.
func listBinaryModules(t *testing.T) (list []binaryModule) {
	t.Helper()
	const form = `{{with .Module}}{{if not .Main}}{{.Path}}{{"\n"}}{{end}}{{end}}`
	paths := append(strings.Fields(runGo(t, "list", "-deps", "-f", form, "./tools/anesim")), windowsOnly)
	slices.Sort(paths)
	paths = slices.Compact(paths)
	args := append([]string{"list", "-m", "-f", "{{.Path}}\t{{.Version}}\t{{.Dir}}"}, paths...)
	for line := range strings.Lines(runGo(t, args...)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		list = append(list, binaryModule{f[0], f[1], f[2]})
	}
	return list
}

// readLicenses returns the texts of the files in a directory that state a license, in the order of
// their names, and those in its directory THIRD_PARTY_LICENSES.
func readLicenses(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	third := filepath.Base(dir) == "THIRD_PARTY_LICENSES"
	for _, e := range entries {
		name := strings.ToUpper(strings.TrimSuffix(e.Name(), filepath.Ext(e.Name())))
		if e.IsDir() {
			if name == "THIRD_PARTY_LICENSES" {
				b.WriteString(readLicenses(t, filepath.Join(dir, e.Name())))
			}
			continue
		}
		if !third && !slices.Contains([]string{"LICENSE", "LICENCE", "COPYING", "NOTICE", "PATENTS"}, name) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "\n%s\n", strings.TrimSpace(strings.ReplaceAll(string(text), "\r", "")))
	}
	if b.Len() == 0 {
		t.Fatalf("%s has no license", dir)
	}
	return b.String()
}

// TestNotices holds the notices to the modules of the binary: each is named with its version, and
// has its license word by word.
func TestNotices(t *testing.T) {
	const line = "\n================================================================\n"
	section := func(name, text string) string { return line + name + "\n" + text }
	parts := map[string]string{}
	old, err := os.ReadFile(filepath.Join(root, noticesFile))
	if err != nil && !*update {
		t.Fatal(err)
	}
	for _, part := range strings.Split(string(old), line)[1:] {
		name, text, _ := strings.Cut(part, "\n")
		parts[name] = text
	}
	var want strings.Builder
	want.WriteString(noticesHead)
	const standard = "Go, its standard library and runtime"
	text, known := parts[standard]
	if *update { // not otherwise: packages of systems have it elsewhere
		text = readLicenses(t, strings.TrimSpace(runGo(t, "env", "GOROOT")))
	} else if !known {
		t.Errorf("%s has no section %q", noticesFile, standard)
	}
	want.WriteString(section(standard, text))
	for _, m := range listBinaryModules(t) {
		name := m.path + " " + m.version
		text, known := parts[name]
		switch {
		case m.dir != "":
			text = readLicenses(t, m.dir)
		case m.path != windowsOnly || !known:
			t.Fatalf("%s is not in the cache of modules; download it with go mod download", name)
		}
		want.WriteString(section(name, text))
	}
	if *update {
		if err := os.WriteFile(filepath.Join(root, noticesFile), []byte(want.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	} else if string(old) != want.String() {
		t.Errorf("%s is not of the modules in the binary; go test ./tools/house -run Notices -update writes it", noticesFile)
	}
}
