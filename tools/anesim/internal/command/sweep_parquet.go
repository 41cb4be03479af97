package command

import (
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"anesim/tools/anesim/internal/outfile"
)

// A columnKind is what the values of a column are.
type columnKind uint8

const (
	integers columnKind = iota
	reals
	words
)

// resultKinds are those of the results that are not real numbers.
var resultKinds = map[string]columnKind{
	"point": integers, "program": words, "descriptors": integers, "cycles": integers, "bound": words,
	"dma_bytes": integers, "macs": integers, "error": words,
}

// kindOf is what all values of an axis are. Only a number that prints as it stands is one:
// 007 and 0x10 are words.
func kindOf(values iter.Seq[string]) columnKind {
	whole, real := true, true
	for v := range values {
		n, err := strconv.ParseInt(v, 10, 64)
		whole = whole && err == nil && strconv.FormatInt(n, 10) == v
		f, err := strconv.ParseFloat(v, 64)
		real = real && err == nil && (strconv.FormatFloat(f, 'g', -1, 64) == v || strconv.FormatFloat(f, 'f', -1, 64) == v)
	}
	switch {
	case whole:
		return integers
	case real:
		return reals
	}
	return words
}

// columnKinds are those of a header's columns; axis says what one of the axes is.
func columnKinds(header []string, axis func(i int) columnKind) []columnKind {
	kinds := make([]columnKind, len(header))
	first, last := 2, len(header)-len(resultColumns)
	if header[last-1] == areaColumn {
		last--
	}
	for i, name := range header {
		if i >= first && i < last {
			kinds[i] = axis(i - first)
			continue
		}
		kinds[i] = reals
		if k, ok := resultKinds[name]; ok {
			kinds[i] = k
		}
	}
	return kinds
}

// kinds are those of the sweep's columns.
func (s *sweep) kinds() []columnKind {
	return columnKinds(s.header(), func(i int) columnKind { return kindOf(slices.Values(s.grid[i].values)) })
}

// groupRows is how many rows are held until they are written together.
const groupRows = 1 << 16

// A tableOutput writes rows as a Parquet file, in groups, so that memory is bounded. The
// bytes follow from the rows alone: columns are not compressed, since the bytes of
// compressors differ between machines; labels have dictionaries, which do most of it.
type tableOutput struct {
	file  *outfile.File
	w     *parquet.GenericWriter[any]
	kinds []columnKind
	names []string
	row   parquet.Row
	rows  int
}

// newTable starts a Parquet file. Exactly one of finish and abort ends it.
func newTable(name string, header []string, kinds []columnKind) (*tableOutput, error) {
	f, err := outfile.Create(name)
	if err != nil {
		return nil, err
	}
	return &tableOutput{file: f, w: tableWriter(f, header, kinds), kinds: kinds, names: header}, nil
}

// tableWriter is a writer of rows with the header's columns, in its order.
func tableWriter(w io.Writer, header []string, kinds []columnKind) *parquet.GenericWriter[any] {
	root := columnsInOrder{parquet.Group{}, header}
	for i, name := range header {
		var n parquet.Node
		switch kinds[i] {
		case integers:
			n = parquet.Int(64)
		case reals:
			n = parquet.Leaf(parquet.DoubleType)
		default:
			n = parquet.String()
		}
		if i > 0 && (kinds[i] == words || i < len(header)-len(resultColumns)) {
			n = parquet.Encoded(n, &parquet.RLEDictionary)
		}
		root.Group[name] = parquet.Optional(n)
	}
	return parquet.NewGenericWriter[any](w, parquet.NewSchema("sweep", root),
		parquet.CreatedBy("anesim", "1", "0"), parquet.MaxRowsPerRowGroup(groupRows), parquet.Compression(&parquet.Uncompressed))
}

// columnsInOrder is a group whose columns keep their order.
type columnsInOrder struct {
	parquet.Group
	names []string
}

func (g columnsInOrder) Fields() []parquet.Field {
	fields := g.Group.Fields()
	slices.SortFunc(fields, func(a, b parquet.Field) int {
		return slices.Index(g.names, a.Name()) - slices.Index(g.names, b.Name())
	})
	return fields
}

// add writes a row. A field that is empty has no value.
func (t *tableOutput) add(row []string) error {
	t.row = t.row[:0]
	for i, text := range row {
		var v parquet.Value
		switch {
		case text == "":
			t.row = append(t.row, v.Level(0, 0, i))
			continue
		case t.kinds[i] == integers:
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return fmt.Errorf("point %s: %s %q is not a whole number", row[0], t.names[i], text)
			}
			v = parquet.Int64Value(n)
		case t.kinds[i] == reals:
			n, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return fmt.Errorf("point %s: %s %q is not a number", row[0], t.names[i], text)
			}
			v = parquet.DoubleValue(n)
		default:
			v = parquet.ByteArrayValue([]byte(text))
		}
		t.row = append(t.row, v.Level(0, 1, i))
	}
	t.rows++
	_, err := t.w.WriteRows([]parquet.Row{t.row})
	return err
}

// finish completes the file and puts it in its place.
func (t *tableOutput) finish() error {
	if err := t.w.Close(); err != nil {
		t.abort()
		return err
	}
	return t.file.Commit()
}

func (t *tableOutput) abort() { t.file.Abort() }
