package command

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// inOrder computes items first to n-1 on several goroutines and writes them in order. An
// error of write ends it.
//
//	feed --> workers --> done flags
//	   \--> queue, in order --> write
func inOrder(first, n, workers int, compute func(i int) []string, write func([]string) error) error {
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
	for range workers {
		go func() {
			for x := range work {
				x.row = compute(x.index)
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
	var b bytes.Buffer
	c := csv.NewWriter(&b)
	c.Write(row)
	c.Flush()
	return b.Bytes()
}

// resume makes the output go on behind the last complete row of a file, whose rows must
// be those that label says.
func (o *sweepOutput) resume(f *os.File, label func(row int) []string) error {
	data, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	// What stands behind the last complete row is the start of one, where the file is ours.
	whole := data[:bytes.LastIndexByte(data, '\n')+1]
	if len(whole) == 0 && !bytes.HasPrefix(csvLine(o.header), data) {
		return errors.New("it is not the output of a sweep; choose another file")
	}
	data = whole
	rows, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	if err != nil {
		return err
	}
	for i, row := range rows {
		want := o.header
		if i > 0 {
			want = label(i - 1)
		}
		if len(row) != len(o.header) || !slices.Equal(row[:len(want)], want) {
			return fmt.Errorf("line %d is of another sweep", i+1)
		}
	}
	o.begun = len(rows) > 0
	o.rows = max(0, len(rows)-1)
	if err := f.Truncate(int64(len(data))); err != nil {
		return err
	}
	_, err = f.Seek(0, io.SeekEnd)
	o.w = f
	return err
}
