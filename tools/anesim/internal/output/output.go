package output

import (
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"anesim"
	"anesim/tools/anesim/internal/npy"
	"anesim/tools/anesim/internal/outfile"
	"anesim/tools/anesim/internal/text"
	"anesim/tools/anesim/internal/usage"
)

// Write writes each output port to dir as <port>.npy, but none over the other files
// of the command line.
func Write(dir string, res *anesim.Result, others []string) error {
	if len(res.Outputs) == 0 {
		return fmt.Errorf("--out %s: no outputs to write: %s", dir, text.WhyNoOutputs(res))
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var ports []string
	for _, out := range res.Outputs {
		ports = append(ports, out.Port.Name)
	}
	names := FileNames(ports)
	for i := range names {
		names[i] = filepath.Join(dir, names[i]+".npy")
		for _, other := range others {
			if outfile.Same(names[i], other) {
				return usage.Errorf("--out: output %q would be written to %s, which the command line names for something else", ports[i], names[i])
			}
		}
	}
	for i, out := range res.Outputs {
		f, err := outfile.Create(names[i])
		if err != nil {
			return err
		}
		defer f.Abort()
		if out.Numbers != nil {
			err = npy.WriteNumbers(f, out.Type, out.Shape(), out.Numbers)
		} else {
			err = npy.WriteAs(f, out.Type, out.Shape(), out.Data)
		}
		if err != nil {
			return err
		}
		if err := f.Commit(); err != nil {
			return err
		}
	}
	return nil
}

// FileNames are ports' names without what a path would take apart or a file system refuse.
// Ports whose names would become the same, letter case aside, have what was replaced
// written out in hexadecimal, and a port that its plain name belongs to keeps it.
func FileNames(ports []string) []string {
	names := make([]string, len(ports))
	count := make(map[string]int)
	for i, p := range ports {
		names[i] = shortened(replaced(p, func(rune) string { return "_" }), p)
		count[strings.ToLower(names[i])]++
	}
	for i, p := range ports {
		if count[strings.ToLower(names[i])] > 1 && names[i] != p {
			names[i] = shortened(replaced(p, func(r rune) string { return fmt.Sprintf("%%%02X", r) }), p)
		}
	}
	// What is still the same, such as two names that differ in case alone, is numbered.
	taken := make(map[string]bool)
	for i := range names {
		name := names[i]
		for n := 2; taken[strings.ToLower(name)]; n++ {
			name = fmt.Sprintf("%s~%d", names[i], n)
		}
		names[i] = name
		taken[strings.ToLower(name)] = true
	}
	return names
}

// maxName is the longest file name in bytes, without its suffix: file systems take 255, and
// the temporary file beside it has a few more.
const maxName = 200

// shortened is a name of at most maxName bytes: a longer one, as exporters make of a layer's
// path, ends in a number of the port's whole name.
func shortened(name, port string) string {
	if len(name) <= maxName {
		return name
	}
	cut := maxName - len("~00000000")
	for !utf8.RuneStart(name[cut]) {
		cut--
	}
	return fmt.Sprintf("%s~%08x", name[:cut], crc32.ChecksumIEEE([]byte(port)))
}

func replaced(s string, by func(r rune) string) string {
	if s == "" || strings.Trim(s, ".") == "" {
		return "_" + s
	}
	var b strings.Builder
	for _, r := range s {
		if r == '/' || r == '\\' || r == ':' || r < ' ' || r == 0x7f {
			b.WriteString(by(r))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
