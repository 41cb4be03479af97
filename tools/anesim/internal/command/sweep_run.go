package command

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

// inOrder computes items first to n-1 on several goroutines and writes them in order. An
// error of write ends it.
//
//	feed --> workers --> done flags
//	   \--> queue, in order --> write
func inOrder(first, n, workers int, compute func(worker, i int) []string, write func([]string) error) error {
	type item struct {
		index int
		row   []string
		done  chan struct{}
	}
	work := make(chan *item)
	queue := make(chan *item, 4*workers)
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		defer close(queue)
		defer close(work)
		for i := first; i < n; i++ {
			x := &item{index: i, done: make(chan struct{})}
			for _, c := range [...]chan *item{queue, work} {
				select {
				case c <- x:
				case <-stop:
					return
				}
			}
		}
	}()
	for worker := range workers {
		go func() {
			for x := range work {
				x.row = compute(worker, x.index)
				close(x.done)
			}
		}()
	}
	for x := range queue {
		<-x.done
		if err := write(x.row); err != nil {
			return err
		}
	}
	return nil
}

// A sweepOutput is where rows go.
type sweepOutput struct {
	w      io.Writer
	header []string
	rows   int // that are there already
	begun  bool
}

// write writes a row as a whole, so that what is there ends with a complete row whenever
// the command is stopped.
func (o *sweepOutput) write(row []string) error {
	line := csvLine(row)
	if !o.begun {
		line = append(csvLine(o.header), line...)
		o.begun = true
	}
	_, err := o.w.Write(line)
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

// openRows opens a file of rows to go on with. It is made where there is none.
func openRows(name string) (*os.File, error) {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return nil, inFile(name, errors.New("is not a regular file"))
	}
	return os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
}

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
	return csv.NewReader(bytes.NewReader(r.line)).Read()
}

// resume makes the output go on behind the last complete row of a file, whose rows must
// be those that label says, no more than most.
func (o *sweepOutput) resume(f *os.File, most int, label func(row int) []string) error {
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
		if len(row) != len(o.header) || !slices.Equal(row[:len(want)], want) {
			return fmt.Errorf("line %d is of another sweep", i+1)
		}
		o.begun, o.rows = true, i
	}
	if err := f.Truncate(r.end); err != nil {
		return err
	}
	_, err := f.Seek(r.end, io.SeekStart)
	o.w = f
	return err
}
