package sweep

import (
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"strings"

	"anesim"
	"anesim/bench/report"
	"anesim/hw"
	"anesim/hw/chip"
)

// originColumn is the name of the last column: what all rows of a sweep have in common and
// no other column says. Rows of two origins are of two machines, however alike their labels.
const originColumn = "origin"

// origin says what times the sweep: words of a key and a value each, those at their defaults
// left out but for the chip, the hash of its constants, the seed and the version.
func (s *Sweep) origin() (string, error) {
	o := &s.Options
	words := []string{"chip=" + chipWord(&o.Chip), "constants=" + constantsWord(&o.Chip), fmt.Sprintf("seed=%d", o.Seed)}
	add := func(key, value string) { words = append(words, key+"="+value) }
	if o.GateTiles != 0 {
		add("gate-tiles", fmt.Sprintf("%#x", o.GateTiles))
	}
	if len(o.Overrides) > 0 {
		var list []string
		for _, v := range o.Overrides {
			list = append(list, v.String())
		}
		add("set", strings.Join(list, ","))
	}
	if o.Init != nil {
		add("init", hashed(fmt.Sprint(o.Init.Records)))
	}
	if s.area != nil {
		add("area", s.areaText)
	}
	files, err := s.filesWord()
	if err != nil {
		return "", err
	}
	if files != "" {
		add("files", files)
	}
	tool := anesim.ThisTool()
	add("version", tool.Version)
	if r := strings.TrimSuffix(tool.Revision, "+"); r != "" && !strings.Contains(tool.Version, r) {
		add("revision", tool.Revision)
	}
	for i, w := range words {
		words[i] = report.Printable(strings.Join(strings.Fields(w), "_"))
	}
	return strings.Join(words, " "), nil
}

// maxNamed bounds the constants that a chip's word names; the hash is of all.
const maxNamed = 8

// chipWord is a chip's name and the constants that are not its preset's, as --chip takes them.
func chipWord(c *hw.Chip) string {
	preset, err := chip.ByName(c.Name)
	if err != nil {
		return c.Name
	}
	words := []string{c.Name}
	for name, k := range c.Constants() {
		if v, _ := constantOf(&preset, name); v != k.Value && len(words) <= maxNamed {
			words = append(words, fmt.Sprintf("%s=%g", name, k.Value))
		}
	}
	return strings.Join(words, ",")
}

// constantsWord is a hash of the values of a chip's constants.
func constantsWord(c *hw.Chip) string {
	var b strings.Builder
	for name, k := range c.Constants() {
		fmt.Fprintf(&b, "%s %g\n", name, k.Value)
	}
	return hashed(b.String())
}

// filesWord is a hash of the files that the programs are read from, "" where there is none.
// What stands in a folder or in a file beside is not in it.
func (s *Sweep) filesWord() (string, error) {
	h, any := fnv.New128a(), false
	for _, name := range s.Files() {
		if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
			continue
		}
		f, err := os.Open(name)
		if err != nil {
			return "", err
		}
		n, err := io.Copy(h, f)
		if err := errors.Join(err, f.Close()); err != nil {
			return "", err
		}
		fmt.Fprintf(h, "\n%d bytes\n", n)
		any = true
	}
	if !any {
		return "", nil
	}
	return hashDigits(h.Sum(nil)), nil
}

func hashed(text string) string {
	h := fnv.New128a()
	io.WriteString(h, text)
	return hashDigits(h.Sum(nil))
}

func hashDigits(sum []byte) string {
	const digits = 8
	return hex.EncodeToString(sum)[:digits]
}

// originDifference names the words in which two origins differ.
func originDifference(here, there string) string {
	if here == "" || there == "" {
		return fmt.Sprintf("origin %q here, %q there", here, there)
	}
	a, b := originWords(here), originWords(there)
	var list []string
	for _, w := range append(strings.Fields(here), strings.Fields(there)...) {
		key, _, _ := strings.Cut(w, "=")
		if a[key] == b[key] {
			continue
		}
		list = append(list, fmt.Sprintf("%s %s here, %s there", report.Printable(key), orNone(a[key]), orNone(b[key])))
		b[key] = a[key] // said once
	}
	return strings.Join(list, "; ")
}

func originWords(text string) map[string]string {
	m := map[string]string{}
	for _, w := range strings.Fields(text) {
		key, value, _ := strings.Cut(w, "=")
		m[key] = value
	}
	return m
}

func orNone(value string) string {
	if value == "" {
		return "none"
	}
	return report.Printable(value)
}

// errNoOrigin is a file of rows of a version that did not say what they are of.
var errNoOrigin = errors.New("its rows have no column " + originColumn + ", which says what chip, constants and version they are of: an earlier version wrote it; time the sweep again into a new file")

// withoutOrigin reports whether a header is that of rows without their origin.
func withoutOrigin(header []string) bool {
	n := len(resultColumns) - 1
	return len(header) >= n+2 && header[0] == "point" && header[1] == "program" && header[len(header)-1] == resultColumns[n-1]
}

// problem is why a row has no figures, or not those of the whole; "" where it has.
func problem(row []string) string { return row[len(row)-2] }

// originOf is the origin of a row.
func originOf(row []string) string { return row[len(row)-1] }
