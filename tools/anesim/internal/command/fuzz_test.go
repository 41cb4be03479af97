package command

import (
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"anesim/loader/lower"
)

// Whatever the arguments are, the command ends with one of its codes, and with an error on
// one line where it has one. Commands that take long whatever they are given, and those that
// could write outside the directory, are left out.
func FuzzArguments(f *testing.F) {
	for _, line := range []string{
		"", "--help", "run", "run x.hwx --json", "run x.hwx --set PE.Cfg.OpMode=1 --counters", "run x.hwx --repeat 3 --idle 1ms --host linux --csv",
		"layer relu c=4 h=2 w=2", "layer conv cin=3 cout=5 h=7 w=9 k=3 pad=1 --emit y.hwx", "layer conv cin=-1", "layer", "layer relu c=4 --in x=x.hwx",
		"dump x.hwx", "dump --json --all x.hwx x.hwx", "dump --text --procedure net x.hwx", "enum fp16", "enum 0x3f", "chip m1", "chip m1max",
		"patch x.hwx --set PE.Cfg.OpMode=1 -o y.hwx", "convert x.hwx -o y.anec", "diff x.hwx x.hwx", "check --baseline b.json --update x.hwx",
		"check --baseline b.json --max 2% x.hwx --junit j.xml", "asm x.hwx -o y.hwx", "model n.yaml --dim a=4", "run -", "run --chip x.hwx", "help run",
		"run x.hwx --gate-tiles 0-3,7 --power-budget 1.5", "run x.hwx --bind a=1", "run --in a=b=c", "run 4-in a=bc", "run x.hwx --pprof p --trace t --html h",
	} {
		f.Add(line)
	}
	program, err := lower.Example("add")
	if err != nil {
		f.Fatal(err)
	}
	allowed := []string{"", "run", "layer", "dump", "enum", "chip", "patch", "convert", "diff", "check", "asm", "model", "help", "--help", "-h"}
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Fields(line)
		if len(args) > 0 && !slices.Contains(allowed, args[0]) || strings.ContainsAny(line, "/\\") || len(line) > 200 {
			return
		}
		if len(args) > 0 && (args[0] == "layer" || args[0] == "run" || args[0] == "model") {
			args = append(args, "--timing-only")
		}
		t.Chdir(t.TempDir())
		for name, data := range map[string][]byte{"x.hwx": program, "n.yaml": []byte("inputs:\n  x: {c: 4}\nlayers:\n  - {op: relu}\n")} {
			if err := os.WriteFile(name, data, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		var errs strings.Builder
		switch code := Main(args, io.Discard, &errs); code {
		case exitDone:
		case exitFailed, exitUsage:
			// A line for each file that fails, and how many when there are several.
			text := errs.String()
			lines := slices.Collect(strings.Lines(text))
			whole := func(l string) bool { return strings.HasPrefix(l, "anesim: ") && strings.HasSuffix(l, "\n") }
			if len(lines) == 0 || code == exitFailed && (len(lines) > len(args)+1 || slices.ContainsFunc(lines, func(l string) bool { return !whole(l) })) {
				t.Errorf("%q: exit %d with %q", args, code, text)
			}
		default:
			t.Errorf("%q: exit %d", args, code)
		}
	})
}
