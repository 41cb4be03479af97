package main

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/parquet-go/parquet-go"
)

// groupRows is the number of rows that are kept in memory before they are written as a group.
const groupRows = 1 << 16

var errTorn = errors.New("missing line break after the last row; the file may be incomplete")

// convertCSV converts the CSV file of a sweep to a Parquet file, which it writes to w. It reads in
// twice.
func convertCSV(in io.ReadSeeker, w io.Writer) error {
	var s *schema
	err := readRows(in, func(header []string) (err error) {
		s, err = newSchema(header)
		return err
	}, func(row []string) error {
		s.inspectRow(row)
		return nil
	})
	if err != nil {
		return err
	}
	s.setTypes()
	t := newTable(w, s)
	if err := readRows(in, func([]string) error { return nil }, t.writeRow); err != nil {
		return err
	}
	return t.w.Close()
}

// readRows reads a CSV file from its beginning. It calls header for the first row and row for every
// other row, whose slice is reused. Errors contain the number of the line.
func readRows(in io.ReadSeeker, header, row func([]string) error) error {
	if end, err := in.Seek(0, io.SeekEnd); err != nil {
		return err
	} else if end > 0 {
		if _, err := in.Seek(-1, io.SeekEnd); err != nil {
			return err
		}
		var last [1]byte
		if _, err := io.ReadFull(in, last[:]); err != nil {
			return err
		}
		// A sweep that was stopped may have written part of its last row, and the part may look like a row.
		if last[0] != '\n' {
			return errTorn
		}
	}
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return err
	}
	r := csv.NewReader(bufio.NewReaderSize(in, 1<<16))
	names, err := r.Read()
	if err == io.EOF {
		return errNoSweep
	}
	if err != nil {
		return err
	}
	if err := header(names); err != nil {
		return err
	}
	// From here on: the header keeps its slice.
	r.ReuseRecord = true
	for {
		fields, err := r.Read()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := row(fields); err != nil {
			line, _ := r.FieldPos(0)
			return fmt.Errorf("line %d: %w", line, err)
		}
	}
}

// A table writes rows to a Parquet file.
type table struct {
	w       *parquet.GenericWriter[any]
	columns []column
	row     parquet.Row
}

// newTable returns a table that writes a Parquet file with the schema s to w.
func newTable(w io.Writer, s *schema) *table {
	root := orderedGroup{parquet.Group{}, nil}
	for _, c := range s.columns {
		var n parquet.Node
		switch c.kind {
		case integers:
			n = parquet.Int(64)
		case reals:
			n = parquet.Leaf(parquet.DoubleType)
		default:
			n = parquet.String()
		}
		if c.dictionary {
			n = parquet.Encoded(n, &parquet.RLEDictionary)
		}
		root.Group[c.name] = parquet.Optional(n)
		root.names = append(root.names, c.name)
	}
	return &table{columns: s.columns, w: parquet.NewGenericWriter[any](w, parquet.NewSchema("sweep", root),
		parquet.CreatedBy("anesim", "1", "0"), parquet.MaxRowsPerRowGroup(groupRows), parquet.Compression(&parquet.Uncompressed))}
}

// An orderedGroup is a parquet.Group that keeps the order of its columns instead of sorting them.
type orderedGroup struct {
	parquet.Group
	names []string
}

func (g orderedGroup) Fields() []parquet.Field {
	fields := g.Group.Fields()
	slices.SortFunc(fields, func(a, b parquet.Field) int {
		return slices.Index(g.names, a.Name()) - slices.Index(g.names, b.Name())
	})
	return fields
}

// writeRow writes a row, in which an empty field becomes a null.
func (t *table) writeRow(row []string) error {
	t.row = t.row[:0]
	for i, text := range row {
		v, err := parseValue(text, t.columns[i].kind)
		if err != nil {
			return fmt.Errorf("%s: %w", t.columns[i].name, err)
		}
		level := 1
		if v.IsNull() {
			level = 0
		}
		t.row = append(t.row, v.Level(0, level, i))
	}
	_, err := t.w.WriteRows([]parquet.Row{t.row})
	return err
}

// parseValue parses text as a value of the given kind. An empty text is a null.
func parseValue(text string, kind columnKind) (v parquet.Value, err error) {
	if text == "" {
		return v, nil
	}
	switch kind {
	case integers:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return v, fmt.Errorf("invalid value %q; want an integer", text)
		}
		return parquet.Int64Value(n), nil
	case reals:
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return v, fmt.Errorf("invalid value %q; want a number", text)
		}
		return parquet.DoubleValue(n), nil
	}
	return parquet.ByteArrayValue([]byte(text)), nil
}
