package report

import (
	"encoding/csv"
	"io"
	"strconv"

	"anesim/hw"
)

// A RunCSV writes one row per descriptor, which begins with the name of its program if there are
// several programs. Names that come from a file are written as by [Cell].
type RunCSV struct {
	w      *csv.Writer
	name   []string
	header []string // to be written before the first row
	row    []string
	text   []byte // of the row's fields, one after the other
	ends   []int  // of the fields in text
}

// NewRunCSV returns a writer for the descriptors of a program. Rows begin with the program's name
// if several is set, and a line of column names comes first if header is set.
func NewRunCSV(w io.Writer, program string, several, header bool) *RunCSV {
	c := &RunCSV{w: csv.NewWriter(w)}
	if several {
		c.name = []string{Cell(program)}
	}
	if header {
		if several {
			c.header = []string{"program"}
		}
		c.header = append(c.header, names(DescriptorColumns)...)
	}
	return c
}

// names returns the names that the columns have in CSV.
func names[R any](columns []Column[R]) (list []string) {
	for i := range columns {
		if name := columns[i].Name; name != "" {
			list = append(list, name)
		}
	}
	return list
}

// begin writes the header.
func (c *RunCSV) begin() {
	if c.header != nil {
		c.w.Write(c.header)
		c.header = nil
	}
}

// Descriptor writes the row of a descriptor.
func (c *RunCSV) Descriptor(d *Descriptor) {
	c.begin()
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

// Repeat writes the rows of the dispatches that a report counts but does not list. They repeat
// the rows of the last listed dispatch.
func (c *RunCSV) Repeat(listed []Descriptor, r *hw.Report) {
	last := listed[len(listed)-min(r.Per, len(listed)):]
	for range r.Again {
		for i := range last {
			c.Descriptor(&last[i])
		}
	}
}

// Flush writes buffered rows to the underlying writer.
func (c *RunCSV) Flush() { c.w.Flush() }

// End writes the header if there were no rows, flushes the buffer and returns the first error of
// the writer.
func (c *RunCSV) End() error {
	c.begin()
	c.w.Flush()
	return c.w.Error()
}

// WriteNetworkCSV writes one row per layer, with the number of its program and, for a layer that
// is not modelled, the reason.
func WriteNetworkCSV(w io.Writer, d *Network) error {
	c := csv.NewWriter(w)
	c.Write(append(names(LayerColumns), "not_modelled", "program"))
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
		c.Write(append(row, reason, strconv.Itoa(l.Program)))
	}
	c.Flush()
	return c.Error()
}
