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

// A Output is where rows go: whole ones, some at a time. What is there whenever the
// command is stopped ends with a complete row, or with one that resume does again.
type Output struct {
	w       io.Writer
	header  []string
	Rows    int // that are there already
	begun   bool
	pending []byte
}

// NewOutput is rows under a header on their way to w.
func NewOutput(w io.Writer, header []string) *Output { return &Output{w: w, header: header} }

// flushBytes is how much is pending at most.
const flushBytes = 32 << 10

// Write takes in a row.
func (o *Output) Write(row []string) error {
	if !o.begun {
		o.pending = append(o.pending, csvLine(o.header)...)
		o.begun = true
	}
	o.pending = append(o.pending, csvLine(row)...)
	if len(o.pending) < flushBytes {
		return nil
	}
	return o.Flush()
}

// Flush writes what is pending.
func (o *Output) Flush() error {
	if len(o.pending) == 0 {
		return nil
	}
	_, err := o.w.Write(o.pending)
	o.pending = o.pending[:0]
	return err
}

// csvLine is a row with the newline that ends it.
func csvLine(row []string) []byte {
	var b []byte
	for i, field := range row {
		if i > 0 {
			b = append(b, ',')
		}
		if strings.ContainsAny(field, "\"\r\n") || strings.HasPrefix(field, " ") || strings.Contains(field, ",") || field == `\.` {
			return quotedLine(row)
		}
		b = append(b, field...)
	}
	return append(b, '\n')
}

// quotedLine is csvLine of a row with fields that have to be quoted.
func quotedLine(row []string) []byte {
	var b bytes.Buffer
	c := csv.NewWriter(&b)
	c.Write(row)
	c.Flush()
	return b.Bytes()
}

// Finish writes what is pending, and the header where there was no row. A file's rows then
// last.
func (o *Output) Finish() error {
	if !o.begun {
		o.pending, o.begun = append(o.pending, csvLine(o.header)...), true
	}
	if err := o.Flush(); err != nil {
		return err
	}
	if f, ok := o.w.(*RowFile); ok {
		return f.Sync()
	}
	return nil
}

// OpenRows opens a file of rows to go on with. It is made where there is none, and locked
// as long as it is open: of a task that runs twice, since its node was taken for dead, one
// ends.
func OpenRows(name string) (*RowFile, error) {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return nil, inRows(name, errors.New("is not a regular file"))
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		f.Close()
		return nil, inRows(name, err)
	}
	return &RowFile{f}, nil
}

// A RowFile is a file of rows that no other process writes.
type RowFile struct{ *os.File }

// errLocked is a file of rows that another process writes.
var errLocked = errors.New("another process writes it")

// maxRow bounds a line of a file of rows: as many columns as axes fit a command line.
const maxRow = 1 << 20

// A rowReader reads a file of rows, a line each, and remembers where the last complete one
// ends.
type rowReader struct {
	r    *bufio.Reader
	line []byte // the last one, with the newline that ends it
	end  int64
}

func newRowReader(r io.Reader) *rowReader { return &rowReader{r: bufio.NewReaderSize(r, 1<<16)} }

// next reads a row. io.EOF is the end, io.ErrUnexpectedEOF one behind the start of a row.
func (r *rowReader) next() ([]string, error) {
	r.line = r.line[:0]
	for {
		part, err := r.r.ReadSlice('\n')
		r.line = append(r.line, part...)
		switch {
		case len(r.line) > maxRow:
			return nil, fmt.Errorf("a line of more than %d bytes", maxRow)
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

// rows is a file of rows.
type rows interface {
	io.ReadWriteSeeker
	Truncate(size int64) error
}

// Resume makes the output go on behind the last complete row of a file, whose rows must
// be those that label says, of the same origin, no more than most.
func (o *Output) Resume(f rows, most int, origin string, label func(row int) []string) error {
	r := newRowReader(f)
	for i := 0; ; i++ {
		row, err := r.next()
		if err == io.EOF {
			break
		}
		if err == io.ErrUnexpectedEOF {
			// What stands behind the last complete row is the start of one, where the file is ours.
			if i == 0 && !bytes.HasPrefix(csvLine(o.header), r.line) {
				return errors.New("it is not the output of a sweep; choose another file")
			}
			break
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", i+1, err)
		}
		if i > most {
			return errors.New("it has more rows than the grid")
		}
		want := o.header
		if i > 0 {
			want = label(i - 1)
		}
		if i == 0 && slices.Equal(row, o.header[:len(o.header)-1]) {
			return errNoOrigin
		}
		if len(row) != len(o.header) || !slices.Equal(row[:len(want)], want) {
			return fmt.Errorf("line %d is of another sweep", i+1)
		}
		if i > 0 && originOf(row) != origin {
			return fmt.Errorf("line %d is of another sweep: %s", i+1, originDifference(origin, originOf(row)))
		}
		o.begun, o.Rows = true, i
	}
	if err := f.Truncate(r.end); err != nil {
		return err
	}
	_, err := f.Seek(r.end, io.SeekStart)
	o.w = f
	return err
}
