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
)

// An Output writes rows as CSV, several at a time. If it is interrupted, the file ends with a
// complete row, or with a partial one that Resume removes.
type Output struct {
	w         io.Writer
	header    []string
	Rows      int // number of rows already in the file
	hasHeader bool
	pending   []byte
}

// NewOutput returns an Output that writes header and rows to w.
func NewOutput(w io.Writer, header []string) *Output { return &Output{w: w, header: header} }

// flushBytes is the number of pending bytes above which Write flushes.
const flushBytes = 32 << 10

// Write adds a row, and flushes if many bytes are pending.
func (o *Output) Write(row []string) error {
	if !o.hasHeader {
		o.pending = append(o.pending, formatLine(o.header)...)
		o.hasHeader = true
	}
	o.pending = append(o.pending, formatLine(row)...)
	if len(o.pending) < flushBytes {
		return nil
	}
	return o.Flush()
}

// Flush writes the pending rows.
func (o *Output) Flush() error {
	if len(o.pending) == 0 {
		return nil
	}
	_, err := o.w.Write(o.pending)
	o.pending = o.pending[:0]
	return err
}

// formatLine returns a row as a line of CSV.
func formatLine(row []string) []byte {
	var b []byte
	for i, field := range row {
		if i > 0 {
			b = append(b, ',')
		}
		if strings.ContainsAny(field, "\"\r\n") || strings.HasPrefix(field, " ") || strings.Contains(field, ",") || field == `\.` {
			return quoteLine(row)
		}
		b = append(b, field...)
	}
	return append(b, '\n')
}

// quoteLine returns a row as a line of CSV, with quotes around the fields that need them.
func quoteLine(row []string) []byte {
	var b bytes.Buffer
	c := csv.NewWriter(&b)
	c.Write(row)
	c.Flush()
	return b.Bytes()
}

// Finish writes the pending rows, and the header if there were no rows. It then syncs the
// file if the output is a RowFile.
func (o *Output) Finish() error {
	if !o.hasHeader {
		o.pending, o.hasHeader = append(o.pending, formatLine(o.header)...), true
	}
	if err := o.Flush(); err != nil {
		return err
	}
	if f, ok := o.w.(*RowFile); ok {
		return f.Sync()
	}
	return nil
}

// OpenRows opens a file of rows to resume, and creates it if it does not exist. It locks the
// file until it is closed. If a cluster starts a task twice because it believes the first
// node is dead, one of the two fails here.
func OpenRows(name string) (*RowFile, error) {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return nil, addFileName(name, errors.New("is not a regular file"))
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := lockFile(f); err != nil {
		f.Close()
		return nil, addFileName(name, err)
	}
	return &RowFile{f}, nil
}

// A RowFile is a file of rows that is locked against other writers.
type RowFile struct{ *os.File }

// errLocked is the error for a file of rows that another process has locked.
var errLocked = errors.New("file is locked by another process")

// maxRow is the largest length of a line in bytes. The axes of a command line need fewer.
const maxRow = 1 << 20

// A rowReader reads a file of rows, one per line, and records where the last complete row
// ends.
type rowReader struct {
	r    *bufio.Reader
	line []byte // last line, with its newline
	end  int64
}

func newRowReader(r io.Reader) *rowReader { return &rowReader{r: bufio.NewReaderSize(r, 1<<16)} }

// next reads a row. It returns io.EOF at the end of the file, and io.ErrUnexpectedEOF if the
// file ends inside a row.
func (r *rowReader) next() ([]string, error) {
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

// Resume makes the output continue after the last complete row of f and removes a partial row
// after it. The header must be the output's. Each row must have the labels that label returns
// and the given origin, and there may be at most `most` rows. If f belongs to another sweep,
// Resume returns an error and does not change f.
func (o *Output) Resume(f rows, most int, origin string, label func(row int) []string) error {
	r := newRowReader(f)
	for i := 0; ; i++ {
		row, err := r.next()
		if err == io.EOF {
			break
		}
		if err == io.ErrUnexpectedEOF {
			// The rest after the last complete row is the start of a row if the file is
			// ours.
			if i == 0 && !bytes.HasPrefix(formatLine(o.header), r.line) {
				return errors.New("not the output of a sweep; choose another file")
			}
			break
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", i+1, err)
		}
		if i > most {
			return errors.New("file has more rows than the grid")
		}
		want := o.header
		if i > 0 {
			want = label(i - 1)
		}
		if i == 0 && slices.Equal(row, o.header[:len(o.header)-1]) {
			return errNoOrigin
		}
		if len(row) != len(o.header) || !slices.Equal(row[:len(want)], want) {
			return fmt.Errorf("line %d belongs to another sweep", i+1)
		}
		if i > 0 && rowOrigin(row) != origin {
			return fmt.Errorf("line %d belongs to another sweep: %s", i+1, diffOrigins(origin, rowOrigin(row)))
		}
		o.hasHeader, o.Rows = true, i
	}
	if err := f.Truncate(r.end); err != nil {
		return err
	}
	_, err := f.Seek(r.end, io.SeekStart)
	o.w = f
	return err
}
