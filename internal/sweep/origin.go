package sweep

import (
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"strconv"
	"strings"

	"anesim"
	"anesim/hw"
	"anesim/hw/chip"
	"anesim/internal/report"
)

// originColumn is the name of the last column of a row. The column identifies the chip, the
// constants, the settings and the version with which the row was computed. Rows with different
// origins cannot be compared.
const originColumn = "origin"

// describeOrigin returns the settings on which the results of the sweep depend, such as "chip=m1
// chip_constants=... seed=1 version=...". They are the chip, a hash of its constants, the seed, the
// number of points, the version, and every other setting that differs from its default.
func (s *Sweep) describeOrigin() (string, error) {
	o := &s.Options
	points, err := s.Points()
	if err != nil {
		return "", err
	}
	// The number of points is in each row, so that any part of the rows shows whether some are
	// missing.
	words := []string{"chip=" + formatChip(&o.Chip), "chip_constants=" + hashConstants(&o.Chip), fmt.Sprintf("seed=%d", o.Seed), fmt.Sprintf("points=%d", points)}
	add := func(key, value string) { words = append(words, key+"="+value) }
	if o.Machine != nil {
		add("machine", o.Machine.Name) // whose host is in the time of a call
	}
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
	if len(s.dims) > 0 {
		add("dims", strings.Join(s.dims, ","))
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

// maxNamedConstants is the largest number of constants that formatChip names.
const maxNamedConstants = 8

// formatChip returns a chip's name and the first constants that differ from its preset, such as
// "m1,Clock=1.2e+09", which is the form of the flag --chip.
func formatChip(c *hw.Chip) string {
	preset, err := chip.ByName(c.Name)
	if err != nil {
		return c.Name
	}
	words := []string{c.Name}
	for name, k := range c.Constants() {
		if v, _ := lookupConstant(&preset, name); v != k.Value && len(words) <= maxNamedConstants {
			words = append(words, fmt.Sprintf("%s=%g", name, k.Value))
		}
	}
	return strings.Join(words, ",")
}

// hashConstants returns a hash of the names and values of all constants of a chip.
func hashConstants(c *hw.Chip) string {
	var b strings.Builder
	for name, k := range c.Constants() {
		fmt.Fprintf(&b, "%s %g\n", name, k.Value)
	}
	return hashText(b.String())
}

// hashFiles returns a hash of the regular files from which the programs were read, with those that a
// network's file refers to, or "" if there are none.
func (s *Sweep) hashFiles() (string, error) {
	h, any := fnv.New128a(), false
	names := s.Files()
	for i := range s.workloads {
		if m := s.workloads[i].model; m != nil {
			for _, name := range m.Files() {
				if name != s.workloads[i].name { // which comes first, as in earlier versions
					names = append(names, name)
				}
			}
		}
	}
	for _, name := range names {
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
		// The lengths separate the files, so that moving bytes from one to the next changes the hash.
		fmt.Fprintf(h, "\n%d bytes\n", n)
		any = true
	}
	if !any {
		return "", nil
	}
	return shortenHash(h.Sum(nil)), nil
}

// hashText returns the first digits of a hash of text in hexadecimal.
func hashText(text string) string {
	h := fnv.New128a()
	io.WriteString(h, text)
	return shortenHash(h.Sum(nil))
}

// shortenHash returns the first digits of a hash sum in hexadecimal.
func shortenHash(sum []byte) string {
	const digits = 8
	return hex.EncodeToString(sum)[:digits]
}

// describeOriginDifference returns text with the settings in which the origins here and there differ, such as
// "seed 1 here, 2 there".
func describeOriginDifference(here, there string) string {
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
		list = append(list, fmt.Sprintf("%s %s here, %s there", report.Printable(key), printableOrNone(a[key]), printableOrNone(b[key])))
		b[key] = a[key] // report each key once
	}
	return strings.Join(list, "; ")
}

// parseOrigin parses an origin as returned by describeOrigin, and returns the values of its
// settings by name.
func parseOrigin(text string) map[string]string {
	m := map[string]string{}
	for _, w := range strings.Fields(text) {
		key, value, _ := strings.Cut(w, "=")
		m[key] = value
	}
	return m
}

// parsePointCount returns the number of points of the sweep that wrote a row with the given origin. It
// returns an error if the origin, of an earlier version, does not have it.
func parsePointCount(origin string) (int, error) {
	n, err := strconv.Atoi(parseOrigin(origin)["points"])
	if err != nil || n < 1 || n > MaxPoints {
		return 0, errors.New("column \"" + originColumn + "\" has no number of points, as in a file from an earlier version; run the sweep again into a new file")
	}
	return n, nil
}

func printableOrNone(value string) string {
	if value == "" {
		return "none"
	}
	return report.Printable(value)
}

// errNoOrigin is the error for a file from a version without the origin column.
var errNoOrigin = errors.New("missing column \"" + originColumn + "\" in a file from an earlier version; run the sweep again into a new file")

// lacksOrigin reports whether header was written by a version of the sweep that had no origin
// column.
func lacksOrigin(header []string) bool {
	n := len(resultColumns) - 1
	return len(header) >= n+2 && header[0] == "point" && header[1] == "program" && header[len(header)-1] == resultColumns[n-1]
}

// rowProblem returns the reason why a row has no results or incomplete ones. It returns "" if the
// results are complete.
func rowProblem(row []string) string { return row[len(row)-2] }

// rowOrigin returns the last column of a row, which holds the settings of the sweep that wrote
// the row.
func rowOrigin(row []string) string { return row[len(row)-1] }
