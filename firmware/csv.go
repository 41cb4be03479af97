package firmware

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"anesim/hw/regs"
)

var (
	csvColumns = []string{"block", "offset", "mask", "value", "evidence", "source"}
	evidences  = []string{"measured", "bytes", "decompiled", "fitted", "inferred", "assumed"}
)

// ReadInitCSV reads an init table in CSV form. The columns are block, offset, mask and value,
// optionally followed by evidence and source. Numbers are decimal or hexadecimal. ReadInitCSV skips
// a first line with column names and lines that start with #. Unlike a binary table, the table may
// be incomplete. The error is an *[InitError].
func ReadInitCSV(r io.Reader) (*InitTable, error) {
	cr := csv.NewReader(r)
	// Evidence and source may be missing in some rows alone; parseInitRecord checks the number of
	// columns.
	cr.FieldsPerRecord = -1
	cr.Comment = '#'
	cr.TrimLeadingSpace = true
	cr.ReuseRecord = true
	var check checker
	t := new(InitTable)
	for first := true; ; first = false {
		row, err := cr.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			e := &InitError{Index: len(t.Records), Off: -1, What: err.Error(), Err: err}
			if p := (*csv.ParseError)(nil); errors.As(err, &p) {
				e.Line, e.What = p.Line, p.Err.Error()
			}
			return nil, e
		}
		for i := range row {
			row[i] = strings.TrimSpace(row[i])
		}
		// Only the first line can have the names of the columns. Below it, the same words are a row with
		// an unknown block, which checkRecord reports.
		if first && len(row) <= len(csvColumns) && slices.EqualFunc(row, csvColumns[:len(row)], strings.EqualFold) {
			continue
		}
		rec, what := parseInitRecord(row)
		if what == "" {
			what = check.checkRecord(rec)
		}
		if what != "" {
			line, _ := cr.FieldPos(0)
			return nil, &InitError{Index: len(t.Records), Block: rec.Block, Off: -1, Line: line, What: what}
		}
		t.Records = append(t.Records, rec)
	}
	if len(t.Records) == 0 {
		return nil, &InitError{Index: -1, Off: -1, What: "no records; want at least one"}
	}
	return t, nil
}

// parseInitRecord parses the fields of a line. If a field is not valid, it returns a description of
// the mistake as the second result, which is "" otherwise.
func parseInitRecord(row []string) (rec InitRecord, what string) {
	if len(row) < 4 || len(row) > len(csvColumns) {
		return rec, fmt.Sprintf("found %d columns; want %s, and optionally evidence and source", len(row), strings.Join(csvColumns[:4], ", "))
	}
	rec = InitRecord{Block: strings.Clone(row[0]), Evidence: "bytes", Source: "init table file"}
	for i, to := range [...]*uint32{&rec.Offset, &rec.Mask, &rec.Value} {
		v, err := regs.ParseNumber(row[1+i])
		if err != nil || v < 0 || v>>32 != 0 {
			return rec, fmt.Sprintf("%s %q is not a 32-bit number", csvColumns[1+i], row[1+i])
		}
		*to = uint32(v)
	}
	if len(row) > 4 {
		if !slices.Contains(evidences, row[4]) {
			return rec, fmt.Sprintf("unknown evidence %q; want one of %s", row[4], strings.Join(evidences, ", "))
		}
		rec.Evidence = strings.Clone(row[4])
	}
	if len(row) > 5 {
		rec.Source = strings.Clone(row[5])
	}
	return rec, ""
}

// WriteCSV writes the table to w as CSV, which [ReadInitCSV] can read.
func (t *InitTable) WriteCSV(w io.Writer) error {
	cw := csv.NewWriter(w)
	cw.Write(csvColumns)
	hex := func(v uint32) string { return "0x" + strconv.FormatUint(uint64(v), 16) }
	for _, r := range t.Records {
		cw.Write([]string{r.Block, hex(r.Offset), hex(r.Mask), hex(r.Value), r.Evidence, r.Source})
	}
	cw.Flush()
	return cw.Error()
}
