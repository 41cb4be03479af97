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

// originColumn is the name of the last column. It describes the conditions that all rows of
// a sweep share and no other column shows. Rows with different origins are not comparable,
// even if their labels are equal.
const originColumn = "origin"

// describeOrigin describes the machine and the settings of the sweep as words KEY=VALUE.
// Settings with default values are omitted, except for the chip, the hash of its constants,
// the seed and the version.
func (s *Sweep) describeOrigin() (string, error) {
	o := &s.Options
	words := []string{"chip=" + formatChip(&o.Chip), "constants=" + hashConstants(&o.Chip), fmt.Sprintf("seed=%d", o.Seed)}
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
		add("init", hashText(fmt.Sprint(o.Init.Records)))
	}
	if s.area != nil {
		add("area", s.areaText)
	}
	files, err := s.hashFiles()
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

// maxNamed is the maximum number of constants that formatChip names. hashConstants covers
// all of them.
const maxNamed = 8

// formatChip returns a chip's name and the constants that differ from its preset, in the
// form of --chip.
func formatChip(c *hw.Chip) string {
	preset, err := chip.ByName(c.Name)
	if err != nil {
		return c.Name
	}
	words := []string{c.Name}
	for name, k := range c.Constants() {
		if v, _ := findConstant(&preset, name); v != k.Value && len(words) <= maxNamed {
			words = append(words, fmt.Sprintf("%s=%g", name, k.Value))
		}
	}
	return strings.Join(words, ",")
}

// hashConstants returns a hash of the values of a chip's constants.
func hashConstants(c *hw.Chip) string {
	var b strings.Builder
	for name, k := range c.Constants() {
		fmt.Fprintf(&b, "%s %g\n", name, k.Value)
	}
	return hashText(b.String())
}

// hashFiles returns a hash of the files that the programs were read from, or "" if there
// are none. Folders and files that these refer to are not included.
func (s *Sweep) hashFiles() (string, error) {
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

func hashText(text string) string {
	h := fnv.New128a()
	io.WriteString(h, text)
	return hashDigits(h.Sum(nil))
}

func hashDigits(sum []byte) string {
	const digits = 8
	return hex.EncodeToString(sum)[:digits]
}

// originDifference returns the words in which two origins differ.
func originDifference(here, there string) string {
	if here == "" || there == "" {
		return fmt.Sprintf("origin %q here, %q there", here, there)
	}
	a, b := parseOrigin(here), parseOrigin(there)
	var list []string
	for _, w := range append(strings.Fields(here), strings.Fields(there)...) {
		key, _, _ := strings.Cut(w, "=")
		if a[key] == b[key] {
			continue
		}
		list = append(list, fmt.Sprintf("%s %s here, %s there", report.Printable(key), orNone(a[key]), orNone(b[key])))
		b[key] = a[key] // report each key once
	}
	return strings.Join(list, "; ")
}

func parseOrigin(text string) map[string]string {
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

// errNoOrigin is returned for a file of an earlier version without the origin column.
var errNoOrigin = errors.New("missing column " + originColumn + ", which identifies chip, constants and version; an earlier version wrote the file, so time the sweep again into a new file")

// lacksOrigin reports whether a header is that of rows without an origin.
func lacksOrigin(header []string) bool {
	n := len(resultColumns) - 1
	return len(header) >= n+2 && header[0] == "point" && header[1] == "program" && header[len(header)-1] == resultColumns[n-1]
}

// rowProblem returns the reason why a row has no results, or incomplete ones, or "".
func rowProblem(row []string) string { return row[len(row)-2] }

// originOf returns the origin of a row.
func originOf(row []string) string { return row[len(row)-1] }
