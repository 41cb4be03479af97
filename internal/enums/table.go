package enums

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed enums.txt
var text string

// table returns the enumerations of enums.txt, which is parsed once.
var table = sync.OnceValue(func() []Enum {
	enums, err := parseTable(text)
	if err != nil {
		panic("enums.txt: " + err.Error()) // a test checks the file
	}
	return enums
})

// evidences lists the words for the evidence of an enumeration.
var evidences = []string{"measured", "bytes", "decompiled", "fitted", "inferred", "assumed"}

// parseTable parses a table of enumerations in the form of enums.txt. Errors name the line.
func parseTable(text string) ([]Enum, error) {
	var enums []Enum
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		columns := strings.Split(line, "\t")
		for i, c := range columns {
			// An empty column is written as "-": an editor that strips spaces would otherwise change the
			// number of columns unnoticed.
			if c == "" {
				return nil, fmt.Errorf("line %d: column %d is empty", n, i+1)
			}
			if c == "-" {
				columns[i] = ""
			}
		}
		if columns[0] == "enum" {
			if len(columns) != 6 {
				return nil, fmt.Errorf("line %d: found %d columns; want 6", n, len(columns))
			}
			if !slices.Contains(evidences, columns[4]) {
				return nil, fmt.Errorf("line %d: unknown evidence %q; want one of %q", n, columns[4], evidences)
			}
			enums = append(enums, Enum{columns[1], columns[2], columns[3], columns[4], columns[5], nil})
			continue
		}
		if len(columns) != 3 {
			return nil, fmt.Errorf("line %d: found %d columns; want 3", n, len(columns))
		}
		if len(enums) == 0 {
			return nil, fmt.Errorf("line %d: value before the first enumeration", n)
		}
		v, err := strconv.ParseUint(columns[0], 0, 32)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		e := &enums[len(enums)-1]
		// Lookup ignores case, so two names that differ in case alone could not both be found.
		if slices.ContainsFunc(e.Values, func(o Value) bool { return strings.EqualFold(o.Name, columns[1]) }) {
			return nil, fmt.Errorf("line %d: duplicate value %q of %s", n, columns[1], e.Name)
		}
		e.Values = append(e.Values, Value{v, columns[1], columns[2]})
	}
	return enums, nil
}
