package output

import (
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"anesim"
	"anesim/internal/outfile"
	"anesim/internal/report"
	"anesim/tools/anesim/internal/npy"
)

// Files holds the paths of the files for the outputs of a run, by the names of their ports.
type Files map[string]string

// NewFiles returns the files DIR/PORT.npy for the named ports in directory dir; see [FileNames].
func NewFiles(dir string, ports []string) Files {
	files := make(Files, len(ports))
	for i, name := range FileNames(ports) {
		files[ports[i]] = filepath.Join(dir, name+".npy")
	}
	return files
}

// Paths returns the paths of all files, sorted.
func (f Files) Paths() []string { return slices.Sorted(maps.Values(f)) }

// Write writes the values of each output of a run to its file, and creates their directory dir if
// necessary. It returns an error if no outputs were computed.
func (f Files) Write(dir string, res *anesim.Result) error {
	if len(res.Outputs) == 0 {
		return fmt.Errorf("--out %s: no outputs were computed: %s", dir, report.WhyNoOutputs(res))
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, out := range res.Outputs {
		file, ok := f[out.Port.Name]
		if !ok {
			return fmt.Errorf("--out %s: output %q has no file", dir, out.Port.Name)
		}
		err := outfile.WriteTo(file, func(w io.Writer) error {
			if out.Numbers != nil {
				return npy.WriteNumbers(w, out.Type, out.Shape(), out.Numbers)
			}
			return npy.WriteAs(w, out.Type, out.Shape(), out.Data)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// FileNames returns a distinct file name for each port, on every file system. Characters that file
// names must not contain are replaced by "_". If that makes two names equal, in the sense of
// foldName, the characters are written in hexadecimal instead. Names that are still equal get a
// number, and long names are shortened.
func FileNames(ports []string) []string {
	names := make([]string, len(ports))
	count := make(map[string]int)
	for i, p := range ports {
		names[i] = shortenName(replaceUnsafeRunes(p, func(rune) string { return "_" }), p)
		count[foldName(names[i])]++
	}
	for i, p := range ports {
		if count[foldName(names[i])] > 1 && names[i] != p {
			names[i] = shortenName(replaceUnsafeRunes(p, func(r rune) string { return fmt.Sprintf("%%%02X", r) }), p)
		}
	}
	// Number names that are still equal, such as two that differ only in case.
	taken := make(map[string]bool)
	for i := range names {
		name := names[i]
		for n := 2; taken[foldName(name)]; n++ {
			name = fmt.Sprintf("%s~%d", names[i], n)
		}
		names[i] = name
		taken[foldName(name)] = true
	}
	return names
}

// foldName returns a text that is equal for any two names that a file system may take for the same
// file. Some ignore case, and some compare decomposed forms, in which é is e and an accent. The
// tables of these forms are not at hand, so foldName makes all letters alike that have an accent or
// may have one by themselves, which are those outside ASCII and the characters of Chinese.
func foldName(name string) string {
	const accented = '*'
	var b []rune
	for _, r := range name {
		switch r = foldCase(r); {
		case unicode.Is(unicode.Mn, r):
			if len(b) > 0 {
				b[len(b)-1] = accented
			}
		case r < utf8.RuneSelf || unicode.Is(unicode.Unified_Ideograph, r):
			b = append(b, r)
		default:
			b = append(b, accented)
		}
	}
	return string(b)
}

// foldCase returns the least of the characters that differ from r only in case.
func foldCase(r rune) rune {
	least := r
	for x := unicode.SimpleFold(r); x != r; x = unicode.SimpleFold(x) {
		least = min(least, x)
	}
	return least
}

// maxName is the longest file name in bytes, without the suffix. File systems allow 255, and the
// name of the temporary file is longer by a few bytes.
const maxName = 200

// shortenName returns name, or a shortened form of it if it has more than maxName bytes. Exporters
// name ports by the long path of a layer, so the shortened form ends in a checksum of port, the
// full name.
func shortenName(name, port string) string {
	if len(name) <= maxName {
		return name
	}
	cut := maxName - len("~00000000")
	for !utf8.RuneStart(name[cut]) {
		cut--
	}
	return fmt.Sprintf("%s~%08x", name[:cut], crc32.ChecksumIEEE([]byte(port)))
}

func replaceUnsafeRunes(s string, by func(r rune) string) string {
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
