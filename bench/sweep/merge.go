package sweep

import (
	"bufio"
	"bytes"
	"container/heap"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"

	"anesim/bench/report"
)

// A shardFile is a shard's file that is being read.
type shardFile struct {
	name   string
	file   *os.File
	rows   *rowReader
	line   int
	at     int // point of the current row, -1 at the end
	row    []string
	header []byte

	columns []string // names of the columns
	torn    bool     // the file ends inside a row
}

// maxMergeFiles is the maximum number of files that are open at a time.
const maxMergeFiles = 1 << 10

// Merge writes the rows of shards' files in the order of their points. It first checks that
// every point occurs exactly once. points is the number of points, or 0 to derive it from
// the values in the rows.
func Merge(w io.Writer, names []string, points int) error {
	files, closing, err := openShards(names)
	defer closing()
	if err != nil {
		return err
	}
	if err := checkShards(files, points); err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, flushBytes)
	begun := false
	if _, err := mergeRows(files, func(f *shardFile) error {
		if !begun {
			begun = true
			out.Write(f.header)
		}
		_, err := out.Write(f.rows.line)
		return err
	}); err != nil {
		return err
	}
	return out.Flush()
}

// checkShards reads all files and returns an error unless every point occurs exactly once.
func checkShards(files []*shardFile, points int) error {
	var c *census
	total, err := mergeRows(files, func(f *shardFile) error {
		if c == nil {
			c = newCensus(f.columns)
		}
		if err := c.addRow(f.row); err != nil {
			return f.errorf("%v", err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	want := points
	if want == 0 && c != nil {
		want = c.countPoints()
	}
	if want = max(want, 1); total < want {
		return fmt.Errorf("found %d points of %d; a shard is missing or incomplete", total, want)
	}
	if points > 0 && total > points {
		return fmt.Errorf("found %d points, more than --points %d", total, points)
	}
	return nil
}

// mergeRows reads the files together and calls do for each row in the order of the points,
// which must have no gaps. total is the number of rows.
func mergeRows(files []*shardFile, do func(*shardFile) error) (total int, err error) {
	queue := make(mergeQueue, 0, len(files))
	for _, f := range files {
		if err := f.start(); err != nil {
			return 0, err
		}
		if first := files[0]; !bytes.Equal(f.header, first.header) {
			return 0, f.errorf("belongs to another sweep than %s", report.Printable(first.name))
		}
		if err := f.next(); err != nil {
			return 0, err
		}
		if f.at >= 0 {
			queue = append(queue, f)
		}
	}
	heap.Init(&queue)
	var first *shardFile
	origin := ""
	for ; len(queue) > 0; total++ {
		f := queue[0]
		switch {
		case f.at < total:
			return total, f.errorf("found point %d twice", f.at)
		case f.at > total:
			return total, fmt.Errorf("missing point %d; a shard is missing or incomplete", total)
		}
		if total == 0 {
			first, origin = f, originOf(f.row)
		} else if o := originOf(f.row); o != origin {
			return total, f.errorf("belongs to another sweep than %s: %s", report.Printable(first.name), originDifference(o, origin))
		}
		if err := do(f); err != nil {
			return total, err
		}
		if err := f.next(); err != nil {
			return total, err
		}
		if f.at < 0 {
			heap.Pop(&queue)
		} else {
			heap.Fix(&queue, 0)
		}
	}
	return total, nil
}

// errorf returns an error with the file's name and the current line.
func (f *shardFile) errorf(format string, args ...any) error {
	return inFile(f.name, fmt.Errorf("line %d: %s", f.line, fmt.Sprintf(format, args...)))
}

// start reads the file's header.
func (f *shardFile) start() error {
	if _, err := f.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	f.rows, f.line, f.at = newRowReader(f.file), 1, -1
	row, err := f.rows.next()
	f.torn = err == io.ErrUnexpectedEOF
	n := len(resultColumns)
	if err == nil && lacksOrigin(row) {
		return inFile(f.name, errNoOrigin)
	}
	if err != nil || len(row) < n+2 || row[0] != "point" || row[1] != "program" || !slices.Equal(row[len(row)-n:], resultColumns[:]) {
		return f.errorf("not the output of a sweep")
	}
	f.header = bytes.Clone(f.rows.line)
	f.row, f.columns = row, row
	return nil
}

// next reads a row. f.at becomes -1 after the last one.
func (f *shardFile) next() error {
	before := f.at
	row, err := f.rows.next()
	f.line++
	if err == io.EOF {
		f.at = -1
		return nil
	}
	if err == io.ErrUnexpectedEOF {
		f.torn = true
		return f.errorf("file ends in the middle of a row; finish its shard with --resume")
	}
	if err != nil {
		return f.errorf("%v", err)
	}
	at, err := strconv.Atoi(row[0])
	switch {
	case err != nil || at < 0 || at >= MaxPoints || len(row) != len(f.columns):
		return f.errorf("not the output of a sweep")
	case at <= before:
		return f.errorf("found point %d after point %d", at, before)
	}
	f.row, f.at = row, at
	return nil
}

// A mergeQueue is a heap of files ordered by their current points.
type mergeQueue []*shardFile

func (q mergeQueue) Len() int { return len(q) }

func (q mergeQueue) Less(i, j int) bool { return q[i].at < q[j].at }

func (q mergeQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

func (q *mergeQueue) Push(x any) { *q = append(*q, x.(*shardFile)) }

func (q *mergeQueue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

// openShards opens files of rows. The caller must call closing, even after an error.
func openShards(names []string) (files []*shardFile, closing func(), err error) {
	closing = func() {
		for _, f := range files {
			f.file.Close()
		}
	}
	if len(names) > maxMergeFiles {
		return nil, closing, argumentErrorf("found %d files; want at most %d", len(names), maxMergeFiles)
	}
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return files, closing, err
		}
		files = append(files, &shardFile{name: name, file: f})
		if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
			return files, closing, inFile(name, errors.Join(err, errors.New("is not a regular file")))
		}
	}
	return files, closing, nil
}
