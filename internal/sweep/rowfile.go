package sweep

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"anesim/internal/report"
)

// An Output writes rows as CSV with a header line. It buffers rows and writes only whole ones, so
// an interrupted file normally ends with a complete row. The caller must call [Output.Finish] after
// the last row.
type Output struct {
	w         io.Writer
	header    []string
	Rows      int // number of rows that Resume found in the file
	hasHeader bool
	pending   []byte
}

// NewOutput returns an Output that writes to w. The argument header holds the names of the columns.
func NewOutput(w io.Writer, header []string) *Output { return &Output{w: w, header: header} }

// flushBytes is the number of pending bytes above which Write flushes.
const flushBytes = 32 << 10

// Write adds a row to the buffer, after the header if the row is the first one. If the buffer then
// has 32 KiB or more, Write calls [Output.Flush] and returns its error.
func (o *Output) Write(row []string) error {
	if !o.hasHeader {
		o.pending = append(o.pending, formatCSVLine(o.header)...)
		o.hasHeader = true
	}
	o.pending = append(o.pending, formatCSVLine(row)...)
	if len(o.pending) < flushBytes {
		return nil
	}
	return o.Flush()
}

// Flush writes the buffered rows. It does nothing if there are none.
func (o *Output) Flush() error {
	if len(o.pending) == 0 {
		return nil
	}
	_, err := o.w.Write(o.pending)
	o.pending = o.pending[:0]
	return err
}

// formatCSVLine returns a row as a CSV line.
func formatCSVLine(row []string) []byte {
	var b []byte
	for i, field := range row {
		if i > 0 {
			b = append(b, ',')
		}
		if strings.ContainsAny(field, "\"\r\n") || strings.HasPrefix(field, " ") || strings.Contains(field, ",") || field == `\.` {
			return quoteCSVLine(row)
		}
		b = append(b, field...)
	}
	return append(b, '\n')
}

// quoteCSVLine returns a row as a CSV line, with quotes around fields that need them.
func quoteCSVLine(row []string) []byte {
	var b bytes.Buffer
	c := csv.NewWriter(&b)
	c.Write(row)
	c.Flush()
	return b.Bytes()
}

// Finish writes the buffered rows, or only the header if there were no rows. If the output is a
// [RowFile], Finish also commits the file to stable storage.
func (o *Output) Finish() error {
	if !o.hasHeader {
		o.pending, o.hasHeader = append(o.pending, formatCSVLine(o.header)...), true
	}
	if err := o.Flush(); err != nil {
		return err
	}
	if f, ok := o.w.(*RowFile); ok {
		return f.Sync()
	}
	return nil
}

// OpenRows opens the named file of rows for reading and writing, and creates it if necessary. The
// file is locked until it is closed, so that no two processes write the same shard. OpenRows
// returns an error if another process holds the lock.
func OpenRows(name string) (*RowFile, error) {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return nil, wrapFileError(name, errors.New("not a regular file"))
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := lockFile(f); err != nil {
		f.Close()
		return nil, wrapFileError(name, err)
	}
	return &RowFile{f}, nil
}

// A RowFile is an open file of rows that is locked against other processes.
type RowFile struct{ *os.File }

// errLocked is the error for a file of rows that another process has locked.
var errLocked = errors.New("file is locked by another process")

// maxRow is the largest length of a line in bytes. The axes of a command line need fewer.
const maxRow = 1 << 20

// A rowReader reads a file of rows, one per line. It records the offset of the end of the last
// complete row.
type rowReader struct {
	r    *bufio.Reader
	line []byte // last line, with its newline
	end  int64
}

func newRowReader(r io.Reader) *rowReader { return &rowReader{r: bufio.NewReaderSize(r, 1<<16)} }

// readRow reads the next row. It returns io.EOF at the end of the file, and io.ErrUnexpectedEOF if
// the file ends inside a row.
func (r *rowReader) readRow() ([]string, error) {
	r.line = r.line[:0]
	for {
		part, err := r.r.ReadSlice('\n')
		r.line = append(r.line, part...)
		switch {
		case len(r.line) > maxRow:
			return nil, fmt.Errorf("line exceeds %d bytes", maxRow)
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF && len(r.line) > 0:
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		}
		break
	}
	r.end += int64(len(r.line))
	if bytes.IndexByte(r.line, '"') < 0 && bytes.IndexByte(r.line, '\r') < 0 && len(r.line) > 1 {
		return strings.Split(string(r.line[:len(r.line)-1]), ","), nil
	}
	return csv.NewReader(bytes.NewReader(r.line)).Read()
}

// rows is the part of a file that Resume needs.
type rows interface {
	io.ReadWriteSeeker
	Truncate(size int64) error
}

// Resume continues an interrupted output: further rows are written to f after the complete rows
// that it already has. Resume removes a partial row at the end of f and sets o.Rows.
//
// The file must be empty or an earlier output of the same sweep. It must have the header of o and
// at most limit rows. Row k must start with the columns that label(k) returns, and its last column
// must be origin. The first and the last complete row must be those that compute returns, because a
// build that was not made of a commit does not show in the origin. Otherwise Resume returns an error
// and does not change f.
func (o *Output) Resume(f rows, limit int, origin string, label func(row int) []string, compute func(row int) ([]string, error)) error {
	r := newRowReader(f)
	var first, last []string
	for i := 0; ; i++ {
		row, err := r.readRow()
		if err == io.EOF {
			break
		}
		if err == io.ErrUnexpectedEOF {
			// The rest after the last complete row is the start of a row if the file is
			// ours.
			if i == 0 && !bytes.HasPrefix(formatCSVLine(o.header), r.line) {
				return errors.New("file is not the output of a sweep; choose another file")
			}
			break
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", i+1, err)
		}
		if i > limit {
			return fmt.Errorf("file has more than %d rows; want one per point of this sweep or shard", limit)
		}
		want := o.header
		if i > 0 {
			want = label(i - 1)
		}
		if i == 0 && slices.Equal(row, o.header[:len(o.header)-1]) {
			return errNoOrigin
		}
		if len(row) != len(o.header) || !slices.Equal(row[:len(want)], want) {
			return fmt.Errorf("line %d does not match this sweep; want a file written by the same command", i+1)
		}
		if i > 0 && rowOrigin(row) != origin {
			return fmt.Errorf("line %d is from a different sweep: %s", i+1, describeOriginDifference(origin, rowOrigin(row)))
		}
		if i == 1 {
			first = row
		}
		o.hasHeader, o.Rows, last = true, i, row
	}
	if o.Rows > 0 {
		err := o.checkRow(0, first, compute)
		if err == nil && o.Rows > 1 { // a single row is compared, and so computed, once
			err = o.checkRow(o.Rows-1, last, compute)
		}
		if err != nil {
			return err
		}
	}
	if err := f.Truncate(r.end); err != nil {
		return err
	}
	_, err := f.Seek(r.end, io.SeekStart)
	o.w = f
	return err
}

// checkRow returns an error if row k of a file, counted from 0, is not the row that compute returns.
func (o *Output) checkRow(k int, row []string, compute func(row int) ([]string, error)) error {
	want, err := compute(k)
	if err != nil {
		return err
	}
	for i := range want {
		if row[i] != want[i] {
			return fmt.Errorf("line %d is from another build of anesim: %s %s here, %s there; write to a new file",
				k+2, report.Printable(o.header[i]), printableOrNone(want[i]), printableOrNone(row[i]))
		}
	}
	return nil
}
