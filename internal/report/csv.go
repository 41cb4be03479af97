package report

import (
	"encoding/csv"
	"io"
	"strconv"

	"anesim/hw"
)

// A RunCSV writes a CSV file with one row per descriptor. If the file covers several programs, each
// row begins with the program's name, escaped by [Cell].
type RunCSV struct {
	w      *csv.Writer
	name   []string
	header []string // to be written before the first row
	row    []string
	text   []byte // of the row's fields, one after the other
	ends   []int  // of the fields in text
}

// NewRunCSV returns a RunCSV that writes the descriptors of the named program to w. If several is
// true, each row begins with the program's name. If header is true, the first row has the names of
// the columns.
func NewRunCSV(w io.Writer, program string, several, header bool) *RunCSV {
	c := &RunCSV{w: csv.NewWriter(w)}
	if several {
		c.name = []string{Cell(program)}
	}
	if header {
		if several {
			c.header = []string{"program"}
		}
		c.header = append(c.header, listColumnNames(DescriptorColumns)...)
	}
	return c
}

// listColumnNames returns the names of the columns that CSV files have.
func listColumnNames[R any](columns []Column[R]) (list []string) {
	for i := range columns {
		if name := columns[i].Name; name != "" {
			list = append(list, name)
		}
	}
	return list
}

// writeHeader writes the row of column names. It writes nothing if the row was written before or if
// the caller did not request it.
func (c *RunCSV) writeHeader() {
	if c.header != nil {
		c.w.Write(c.header)
		c.header = nil
	}
}

// Descriptor writes a row for d. Errors of the underlying writer are returned by [RunCSV.End].
func (c *RunCSV) Descriptor(d *Descriptor) {
	c.writeHeader()
	c.text, c.ends = c.text[:0], c.ends[:0]
	for i := range DescriptorColumns {
		if x := &DescriptorColumns[i]; x.Name != "" {
			c.text = x.Value(d).appendCSV(c.text)
			c.ends = append(c.ends, len(c.text))
		}
	}
	c.row = append(c.row[:0], c.name...)
	all, from := string(c.text), 0
	for _, to := range c.ends {
		c.row = append(c.row, all[from:to])
		from = to
	}
	c.w.Write(c.row)
}

// Repeat writes rows for the dispatches that r counts but does not list. All of them are like the
// last listed one, so Repeat writes its rows again for each. The descriptors of the last listed
// dispatch must be the last elements of listed.
func (c *RunCSV) Repeat(listed []Descriptor, r *hw.Report) {
	last := listed[len(listed)-min(r.Per, len(listed)):]
	for range r.Again {
		for i := range last {
			c.Descriptor(&last[i])
		}
	}
}

// Flush writes the buffered rows to the underlying writer.
func (c *RunCSV) Flush() { c.w.Flush() }

// End writes the buffered rows, and the header if there were no rows. It returns the first error of
// the underlying writer.
func (c *RunCSV) End() error {
	c.writeHeader()
	c.w.Flush()
	return c.w.Error()
}

// WriteNetworkCSV writes a CSV file with one row per layer of the network d. The column
// "not_modelled" says why the layer is not modelled, or is empty. The column "program" has the
// number of the layer's program, from 1, or 0 if it is in none. The column "working_ns" has the time
// that rates refer to.
func WriteNetworkCSV(w io.Writer, d *Network) error {
	c := csv.NewWriter(w)
	c.Write(append(listColumnNames(LayerColumns), "not_modelled", "program", "working_ns"))
	working := valueIfModelled(func(x *Layer) Value { return newTimeValue(x.Total.WorkingNs) })
	missing := d.NotModelled
	for i := range d.Layers {
		l := &d.Layers[i]
		var row []string
		for k := range LayerColumns {
			if x := &LayerColumns[k]; x.Name != "" {
				row = append(row, string(x.Value(l).appendCSV(nil)))
			}
		}
		reason := ""
		if !l.Modelled {
			reason, missing = Cell(missing[0].Reason), missing[1:]
		}
		c.Write(append(row, reason, strconv.Itoa(l.Program), string(working(l).appendCSV(nil))))
	}
	c.Flush()
	return c.Error()
}
