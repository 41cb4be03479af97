package main

import (
	"bufio"
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Field is a range of bits in a register: one line of the table.
type Field struct {
	Name       string
	Low, Width int
	Type       string
	Evidence   string
	Note       string
	Unlisted   bool // only code uses the name: the table for the dump lacks the field
}

// A Register is a word of a group, or an array of Count equal words.
type Register struct {
	Name     string
	WordType string // empty if no other register has the layout
	Word     int
	Count    int // 0 for a single word
	Fields   []Field
}

// A Group is a block of registers in address order.
type Group struct {
	ID        string
	Registers []Register
}

// evidences are the ways in which a field may be known.
var evidences = []string{"measured", "bytes", "decompiled", "fitted", "inferred", "assumed"}

// parseTable parses the table. It returns an error with the line number if a line is malformed or
// two listed or two unlisted fields of a word overlap.
func parseTable(text []byte) ([]Group, error) {
	var groups []Group
	sc := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; sc.Scan(); n++ {
		line := sc.Text()
		if line == "" || line[0] == '#' {
			continue
		}
		if err := addTableLine(&groups, strings.Split(line, "\t")); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	return groups, sc.Err()
}

// addTableLine adds the field of one line of the table to its register.
func addTableLine(groups *[]Group, col []string) error {
	if len(col) != 9 {
		return fmt.Errorf("found %d columns; want 9", len(col))
	}
	word, err := strconv.Atoi(col[1])
	if err != nil {
		return err
	}
	low, err := strconv.Atoi(col[4])
	if err != nil {
		return err
	}
	width, err := strconv.Atoi(col[5])
	if err != nil {
		return err
	}
	if low < 0 || width < 1 || low+width > 32 {
		return fmt.Errorf("field %s: bits %d to %d are not inside a 32-bit word", col[3], low, low+width-1)
	}
	if !slices.Contains(evidences, col[7]) {
		return fmt.Errorf("field %s: unknown evidence %q; want one of %v", col[3], col[7], evidences)
	}
	note := col[8]
	if note == "-" {
		note = ""
	}
	f := Field{Name: strings.Trim(col[3], "()"), Low: low, Width: width, Type: col[6], Evidence: col[7], Note: note}
	f.Unlisted = f.Name != col[3]

	gi := slices.IndexFunc(*groups, func(g Group) bool { return g.ID == col[0] })
	if gi < 0 {
		*groups = append(*groups, Group{ID: col[0]})
		gi = len(*groups) - 1
	}
	g := &(*groups)[gi]
	name, wordType, _ := strings.Cut(col[2], "/")
	count := 0
	if base, rest, ok := strings.Cut(name, "["); ok {
		if count, err = strconv.Atoi(strings.TrimSuffix(rest, "]")); err != nil {
			return err
		}
		name = base
	}
	if n := len(g.Registers); n > 0 && g.Registers[n-1].Word == word && g.Registers[n-1].Name == name {
		r := &g.Registers[n-1]
		for _, o := range r.Fields {
			// A name of our own may cover bits that the documents name otherwise.
			if f.Unlisted == o.Unlisted && f.Low < o.Low+o.Width && o.Low < f.Low+f.Width {
				return fmt.Errorf("%s.%s.%s overlaps %s", g.ID, name, f.Name, o.Name)
			}
		}
		r.Fields = append(r.Fields, f)
		return nil
	}
	g.Registers = append(g.Registers, Register{Name: name, WordType: wordType, Word: word, Count: count, Fields: []Field{f}})
	return nil
}
