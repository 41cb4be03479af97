package command

import (
	"anesim/bench/report"
	"bufio"
	"bytes"
	"container/heap"
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
	refuseParquet(c.Flags())
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

	columns []string // of the header
	torn    bool     // the file ends inside a row
}

// maxMergeFiles bounds the files that are open at a time.
const maxMergeFiles = 1 << 10

// merge checks the files and then writes their rows.
func merge(w io.Writer, names []string, points int) error {
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
	if _, err := mergeRows(files, func(f *mergeFile) error {
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

// A census is the values that each label of a sweep's rows has: of the program and the axes.
type census struct {
	names  []string
	values []map[string]bool
}

// newCensus starts one of a header.
func newCensus(header []string) *census {
	labels := header[1 : len(header)-len(resultColumns)]
	if n := len(labels); labels[n-1] == areaColumn {
		labels = labels[:n-1]
	}
	c := &census{names: labels}
	for range labels {
		c.values = append(c.values, map[string]bool{})
	}
	return c
}

// add counts a row.
func (c *census) add(row []string) error {
	for i, v := range c.values {
		if w := row[1+i]; !v[w] {
			if v[w] = true; len(v) > maxValues {
				return fmt.Errorf("more than %d values of %s", maxValues, report.Printable(c.names[i]))
			}
		}
	}
	return nil
}

// points is how many combinations the values have.
func (c *census) points() int {
	n := 1
	for _, v := range c.values {
		if n *= len(v); n > maxPoints {
			return maxPoints + 1
		}
	}
	return n
}

// checkShards reads all files and reports an error unless every point is there once.
func checkShards(files []*mergeFile, points int) error {
	var c *census
	total, err := mergeRows(files, func(f *mergeFile) error {
		if c == nil {
			c = newCensus(f.columns)
		}
		if err := c.add(f.row); err != nil {
			return f.fail("%v", err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	want := points
	if want == 0 && c != nil {
		want = c.points()
	}
	if want = max(want, 1); total < want {
		return fmt.Errorf("the files have %d points of %d: some shard is missing or not complete", total, want)
	}
	if points > 0 && total > points {
		return fmt.Errorf("the files have %d points, more than --points %d", total, points)
	}
	return nil
}

// mergeRows reads the files side by side and gives each row to do in the order of the
// points, from 0 on without a gap; total is how many there were.
func mergeRows(files []*mergeFile, do func(*mergeFile) error) (total int, err error) {
	queue := make(mergeQueue, 0, len(files))
	for _, f := range files {
		if err := f.start(); err != nil {
			return 0, err
		}
		if first := files[0]; !bytes.Equal(f.header, first.header) {
			return 0, f.fail("is of another sweep than %s", report.Printable(first.name))
		}
		if err := f.next(); err != nil {
			return 0, err
		}
		if f.at >= 0 {
			queue = append(queue, f)
		}
	}
	heap.Init(&queue)
	for ; len(queue) > 0; total++ {
		f := queue[0]
		switch {
		case f.at < total:
			return total, f.fail("point %d is there twice", f.at)
		case f.at > total:
			return total, fmt.Errorf("no file has point %d: some shard is missing or not complete", total)
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
	f.torn = err == io.ErrUnexpectedEOF
	n := len(resultColumns)
	if err != nil || len(row) < n+2 || row[0] != "point" || row[1] != "program" || !slices.Equal(row[len(row)-n:], resultColumns[:]) {
		return f.fail("it is not the output of a sweep")
	}
	f.header = bytes.Clone(f.rows.line)
	f.row, f.columns = row, row
	return nil
}

// next reads a row; at is -1 behind the last.
func (f *mergeFile) next() error {
	before := f.at
	row, err := f.rows.next()
	f.line++
	if err == io.EOF {
		f.at = -1
		return nil
	}
	if err == io.ErrUnexpectedEOF {
		f.torn = true
		return f.fail("the file ends in the middle of a row: finish its shard with --resume")
	}
	if err != nil {
		return f.fail("%v", err)
	}
	at, err := strconv.Atoi(row[0])
	switch {
	case err != nil || at < 0 || at >= maxPoints || len(row) != len(f.columns):
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
