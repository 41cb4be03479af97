package command

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

	"github.com/spf13/cobra"
)

func mergeCommand() *cobra.Command {
	points := 0
	c := &cobra.Command{
		Use:   "merge FILE...",
		Short: "Put the files of a sweep's shards together",
		Long: `Merge writes the rows of a sweep's shards in the order of its points, byte for byte what
the sweep writes without --shard. The files may be in any order; nothing is written unless
every point is there once. --points says how many there are; without it there must be as
many as the values that the rows have make combinations.`,
		Example: `  anesim sweep conv cin=16..256+16 cout=64 --shard 1/2 --resume 1.csv
  anesim sweep conv cin=16..256+16 cout=64 --shard 2/2 --resume 2.csv
  anesim sweep merge 1.csv 2.csv > all.csv`,
		Args: someFiles,
		RunE: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("points") && (points < 1 || points > maxPoints) {
				return usage("--points %d: must be between 1 and %d", points, maxPoints)
			}
			return merge(c.OutOrStdout(), args, points)
		},
	}
	c.Flags().IntVar(&points, "points", 0, "how many `POINTS` the sweep has")
	return c
}

// A mergeFile is a shard's file on the way through a merge.
type mergeFile struct {
	name   string
	file   *os.File
	rows   *rowReader
	line   int
	at     int // point of the row that stands in rows.line; -1 at the end
	row    []string
	header []byte
}

// maxMergeFiles bounds the files that are open at a time.
const maxMergeFiles = 1 << 10

// merge checks the files and then writes their rows.
func merge(w io.Writer, names []string, points int) error {
	if len(names) > maxMergeFiles {
		return usage("%d files; merge takes at most %d at a time", len(names), maxMergeFiles)
	}
	files := make([]*mergeFile, len(names))
	for i, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
			return inFile(name, errors.Join(err, errors.New("is not a regular file")))
		}
		files[i] = &mergeFile{name: name, file: f}
	}
	var values []map[string]bool // of each axis
	if err := mergeRows(files, func(f *mergeFile) error {
		for i, v := range f.row[2 : len(f.row)-len(resultColumns)] {
			if len(values) <= i {
				values = append(values, map[string]bool{})
			}
			if values[i][v] = true; len(values[i]) > maxValues {
				return f.fail("more than %d values of an axis", maxValues)
			}
		}
		return nil
	}, func(total int) error {
		want := points
		if want == 0 {
			want = 1
			for _, v := range values {
				want *= len(v)
			}
		}
		if total < want {
			return fmt.Errorf("the files have %d points of %d: some shard is missing or not complete", total, want)
		}
		if points > 0 && total > points {
			return fmt.Errorf("the files have %d points, more than --points %d", total, points)
		}
		return nil
	}); err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	begun := false
	err := mergeRows(files, func(f *mergeFile) error {
		if !begun {
			begun = true
			out.Write(f.header)
		}
		_, err := out.Write(f.rows.line)
		return err
	}, func(int) error { return nil })
	if err != nil {
		return err
	}
	return out.Flush()
}

// mergeRows reads the files side by side and gives each row to do in the order of the
// points, from 0 on without a gap; end is called with how many there were.
func mergeRows(files []*mergeFile, do func(*mergeFile) error, end func(total int) error) error {
	queue := make(mergeQueue, 0, len(files))
	for _, f := range files {
		if err := f.start(); err != nil {
			return err
		}
		if first := files[0]; !bytes.Equal(f.header, first.header) {
			return f.fail("is of another sweep than %s", escaped(first.name))
		}
		if err := f.next(); err != nil {
			return err
		}
		if f.at >= 0 {
			queue = append(queue, f)
		}
	}
	heap.Init(&queue)
	total := 0
	for ; len(queue) > 0; total++ {
		f := queue[0]
		switch {
		case f.at < total:
			return f.fail("point %d is there twice", f.at)
		case f.at > total:
			return fmt.Errorf("no file has point %d: some shard is missing or not complete", total)
		}
		if err := do(f); err != nil {
			return err
		}
		if err := f.next(); err != nil {
			return err
		}
		if f.at < 0 {
			heap.Pop(&queue)
		} else {
			heap.Fix(&queue, 0)
		}
	}
	return end(total)
}

// fail is an error in the file's line.
func (f *mergeFile) fail(format string, args ...any) error {
	return inFile(f.name, fmt.Errorf("line %d: %s", f.line, fmt.Sprintf(format, args...)))
}

// start reads the file's header, from its beginning.
func (f *mergeFile) start() error {
	if _, err := f.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	f.rows, f.line, f.at = newRowReader(f.file), 1, -1
	row, err := f.rows.next()
	n := len(resultColumns)
	if err != nil || len(row) < n+2 || row[0] != "point" || row[1] != "program" || !slices.Equal(row[len(row)-n:], resultColumns[:]) {
		return f.fail("it is not the output of a sweep")
	}
	f.header = bytes.Clone(f.rows.line)
	f.row = row
	return nil
}

// next reads a row; at is -1 behind the last.
func (f *mergeFile) next() error {
	columns, before := len(f.row), f.at
	row, err := f.rows.next()
	f.line++
	if err == io.EOF {
		f.at = -1
		return nil
	}
	if err == io.ErrUnexpectedEOF {
		return f.fail("the file ends in the middle of a row: finish its shard with --resume")
	}
	if err != nil {
		return f.fail("%v", err)
	}
	at, err := strconv.Atoi(row[0])
	switch {
	case err != nil || at < 0 || at >= maxPoints || len(row) != columns:
		return f.fail("it is not the output of a sweep")
	case at <= before:
		return f.fail("point %d stands behind point %d", at, before)
	}
	f.row, f.at = row, at
	return nil
}

// A mergeQueue is the files by the point that each is at.
type mergeQueue []*mergeFile

func (q mergeQueue) Len() int           { return len(q) }
func (q mergeQueue) Less(i, j int) bool { return q[i].at < q[j].at }
func (q mergeQueue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *mergeQueue) Push(x any)        { *q = append(*q, x.(*mergeFile)) }

func (q *mergeQueue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}
