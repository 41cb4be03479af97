package measured

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// ReadCSV reads rows from a CSV file with a header line. The columns op and latency_us are
// required. The columns tier, id, chip, machine, N, Cin, H, W, Cout, Kh, Kw, stride, groups, M, K,
// Ncols, depth, weight_format, iter_us, gflops, power_w, energy_mj, dram_bytes, source and notes
// are optional. Other columns are ignored.
//
// The words "zero-copy" or "per-layer slope" in the notes set NoHost, and "VALID padding" sets
// Valid. ReadCSV returns a *[RowError] if a line is not valid, or if the file exceeds maxBytes or
// has more than maxRows rows. Other errors come from r.
func ReadCSV(r io.Reader) ([]Row, error) {
	b := &boundedReader{from: r, left: maxBytes}
	rows, err := readRecords(b)
	if b.over {
		return nil, &RowError{len(rows) + 2, fmt.Sprintf("file exceeds %d bytes", maxBytes), nil}
	}
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// Limits on a file of rows.
const (
	maxBytes = 16 << 20
	maxRows  = 1 << 16
)

// A boundedReader returns io.EOF after a number of bytes.
type boundedReader struct {
	from io.Reader
	left int
	over bool // the underlying reader has more
}

func (b *boundedReader) Read(p []byte) (int, error) {
	if b.left == 0 {
		var one [1]byte
		n, err := b.from.Read(one[:])
		b.over = b.over || n > 0
		if n > 0 {
			err = io.EOF
		}
		return 0, err
	}
	n, err := b.from.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// readRecords does the work of [ReadCSV], without the limit on bytes.
func readRecords(r io.Reader) ([]Row, error) {
	c := csv.NewReader(r)
	c.ReuseRecord = true
	// Spreadsheets leave out empty columns at the end of a row.
	c.FieldsPerRecord = -1
	head, err := c.Read()
	if err != nil {
		if errors.Is(err, io.EOF) {
			return nil, &RowError{1, "missing header line", nil}
		}
		return nil, err
	}
	columns := make(map[string]int)
	for i, name := range head {
		// Spreadsheets write a byte order mark before the first column.
		columns[strings.TrimSpace(strings.TrimPrefix(name, "\ufeff"))] = i
	}
	for _, name := range [...]string{"op", "latency_us"} {
		if _, ok := columns[name]; !ok {
			return nil, &RowError{1, fmt.Sprintf("missing column %q", name), nil}
		}
	}
	var out []Row
	for {
		record, err := c.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		line, _ := c.FieldPos(0)
		if len(out) == maxRows {
			return nil, &RowError{line, fmt.Sprintf("file has more than %d rows", maxRows), nil}
		}
		row, err := parseRow(func(name string) string {
			if i, ok := columns[name]; ok && i < len(record) {
				return strings.TrimSpace(record[i])
			}
			return ""
		}, line)
		if err != nil {
			return nil, err
		}
		out = append(out, row)
	}
}

// parseRow parses a record into a row. The function cell returns the cell in the named column, and
// line is the number of the line for errors.
func parseRow(cell func(string) string, line int) (Row, error) {
	// A tier may have a suffix, as in T2-host. Rules depend on the tier alone.
	tier, _, _ := strings.Cut(cell("tier"), "-")
	notes := cell("notes")
	r := Row{
		ID: cell("id"), Tier: tier, Chip: cell("chip"), Machine: cell("machine"), Op: cell("op"),
		Weights: cell("weight_format"), Source: cell("source"),
		NoHost: strings.Contains(strings.ToLower(notes), "zero-copy") || strings.Contains(notes, "per-layer slope"),
		Valid:  strings.Contains(notes, "VALID padding"),
	}
	for _, d := range [...]struct {
		name string
		to   *int
	}{
		{"N", &r.N}, {"Cin", &r.Cin}, {"H", &r.H}, {"W", &r.W}, {"Cout", &r.Cout}, {"Kh", &r.Kh}, {"Kw", &r.Kw},
		{"stride", &r.Stride}, {"groups", &r.Groups}, {"M", &r.M}, {"K", &r.K}, {"Ncols", &r.Cols}, {"depth", &r.Depth},
	} {
		if v := cell(d.name); v != "" {
			var err error
			if *d.to, err = parseDimension(v); err != nil {
				return Row{}, &RowError{line, d.name, err}
			}
		}
	}
	var bytes float64
	for _, d := range [...]struct {
		name string
		to   *float64
	}{
		{"latency_us", &r.Latency}, {"iter_us", &r.Sustained}, {"power_w", &r.Power}, {"energy_mj", &r.Energy}, {"gflops", &r.GFLOPS}, {"dram_bytes", &bytes},
	} {
		if v := cell(d.name); v != "" {
			x, err := strconv.ParseFloat(v, 64)
			if err == nil && (math.IsNaN(x) || x < 0 || x > math.MaxInt64) {
				err = fmt.Errorf("invalid measurement %v; want a number from 0 to 2^63", x)
			}
			if err != nil {
				return Row{}, &RowError{line, d.name, err}
			}
			*d.to = x
		}
	}
	r.Bytes = uint64(bytes)
	// A rate was computed from the latency, so it is no second measurement.
	if r.Latency > 0 {
		r.GFLOPS = 0
	}
	return r, nil
}
