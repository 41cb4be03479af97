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
	"strings"

	"anesim/internal/report"
)

// A shardFile reads the rows of one shard from a file, one row at a time.
type shardFile struct {
	name   string
	file   *os.File
	rows   *rowReader
	line   int
	point  int // point of the current row, -1 at the end
	row    []string
	header []byte

	columns []string // names of the columns
	torn    bool     // the file ends inside a row
}

// maxMergeFiles is the largest number of files that are open at a time.
const maxMergeFiles = 1 << 10

// Merge combines the rows of a sweep from the named files, one per shard, and writes them to w in
// the order of their points. It first checks that the files together have every point of the sweep
// exactly once. If points is not 0, it also checks that this is their number.
func Merge(w io.Writer, names []string, points int) error {
	files, closeAll, err := openShards(names)
	defer closeAll()
	if err != nil {
		return err
	}
	if err := checkShards(files, points); err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, flushBytes)
	wroteHeader := false
	if _, err := mergeRows(files, func(f *shardFile) error {
		if !wroteHeader {
			wroteHeader = true
			out.Write(f.header)
		}
		_, err := out.Write(f.rows.line)
		return err
	}); err != nil {
		return err
	}
	return out.Flush()
}

// NamesBuild reports whether the rows of the named files, which are shards of one sweep, name the build
// of anesim that computed them. They do not if it was built outside of a repository or from modified
// files: then shards of two such builds look alike.
func NamesBuild(names []string) (bool, error) {
	files, closeAll, err := openShards(names)
	defer closeAll()
	if err != nil {
		return false, err
	}
	for _, f := range files {
		if err := f.readHeader(); err != nil {
			return false, err
		}
		if err := f.readRow(); err != nil {
			return false, err
		}
		if f.point >= 0 {
			o := parseOrigin(rowOrigin(f.row))
			modified := strings.HasSuffix(o["version"], "+dirty") || strings.HasSuffix(o["revision"], "+")
			return !modified && (o["version"] != develVersion || o["revision"] != ""), nil
		}
	}
	return true, nil
}

// develVersion is the version of a build that records none.
const develVersion = "(devel)"

// checkShards reads all files and returns an error unless every point occurs exactly once. If points
// is not 0, the sweep must have that number of points.
func checkShards(files []*shardFile, points int) error {
	total, err := mergeRows(files, func(*shardFile) error { return nil })
	if err == nil && points > 0 && total != points {
		return fmt.Errorf("files have %d points; want %d, as set by --points", total, points)
	}
	return err
}

// mergeRows calls visit for every row of the files, in the order of their points, and returns the
// number of rows. It returns an error if a point of the sweep is missing or occurs twice, or if the
// files belong to different sweeps. The rows say how many points the sweep has.
func mergeRows(files []*shardFile, visit func(*shardFile) error) (total int, err error) {
	queue := make(mergeQueue, 0, len(files))
	for _, f := range files {
		if err := f.readHeader(); err != nil {
			return 0, err
		}
		// Compared as bytes: columns in another order would be merged as wrong values.
		if first := files[0]; !bytes.Equal(f.header, first.header) {
			return 0, f.errorf("columns differ from those of %s; want files from the same sweep", report.Printable(first.name))
		}
		if err := f.readRow(); err != nil {
			return 0, err
		}
		if f.point >= 0 {
			queue = append(queue, f)
		}
	}
	// A merge of sorted files, so that a sweep of any length needs memory for one row of each.
	heap.Init(&queue)
	var first *shardFile
	origin, points := "", 0
	for ; len(queue) > 0; total++ {
		f := queue[0]
		switch {
		case f.point < total:
			return total, f.errorf("duplicate point %d", f.point)
		case f.point > total:
			return total, fmt.Errorf("missing point %d; a shard is missing or incomplete", total)
		}
		if total == 0 {
			first, origin = f, rowOrigin(f.row)
			if points, err = parsePointCount(origin); err != nil {
				return total, f.errorf("%v", err)
			}
		} else if o := rowOrigin(f.row); o != origin {
			return total, f.errorf("sweep settings differ from those of %s: %s", report.Printable(first.name), describeOriginDifference(o, origin))
		}
		if err := visit(f); err != nil {
			return total, err
		}
		if err := f.readRow(); err != nil {
			return total, err
		}
		if f.point < 0 {
			heap.Pop(&queue)
		} else {
			heap.Fix(&queue, 0)
		}
	}
	switch {
	case total == 0:
		return 0, errors.New("files have no rows; a shard is missing or incomplete")
	case total < points:
		return total, fmt.Errorf("found %d of %d points; a shard is missing or incomplete", total, points)
	case total > points:
		return total, fmt.Errorf("found %d points; want %d, the number in column %s", total, points, originColumn)
	}
	return total, nil
}

// errorf returns a formatted error that begins with the file's name and the number of the current
// line.
func (f *shardFile) errorf(format string, args ...any) error {
	return wrapFileError(f.name, fmt.Errorf("line %d: %s", f.line, fmt.Sprintf(format, args...)))
}

// readHeader moves to the beginning of the file and reads the header there.
func (f *shardFile) readHeader() error {
	if _, err := f.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	f.rows, f.line, f.point = newRowReader(f.file), 1, -1
	row, err := f.rows.readRow()
	f.torn = err == io.ErrUnexpectedEOF
	n := len(resultColumns)
	if err == nil && lacksOrigin(row) {
		return wrapFileError(f.name, errNoOrigin)
	}
	if err != nil || len(row) < n+2 || row[0] != "point" || row[1] != "program" || !slices.Equal(row[len(row)-n:], resultColumns[:]) {
		return f.errorf("file is not the output of a sweep")
	}
	f.header = bytes.Clone(f.rows.line)
	f.row, f.columns = row, row
	return nil
}

// readRow reads the next row of the file. At the end of the file, it sets f.point to -1, and f.torn
// if the file ends in the middle of a row.
func (f *shardFile) readRow() error {
	before := f.point
	row, err := f.rows.readRow()
	f.line++
	if err == io.EOF {
		f.point = -1
		return nil
	}
	if err == io.ErrUnexpectedEOF {
		f.torn = true
		return f.errorf("file ends in the middle of a row; finish the shard with --resume")
	}
	if err != nil {
		return f.errorf("%v", err)
	}
	at, err := strconv.Atoi(row[0])
	switch {
	case err != nil || at < 0 || at >= MaxPoints || len(row) != len(f.columns):
		return f.errorf("file is not the output of a sweep")
	case at <= before:
		return f.errorf("point %d comes after point %d; want points in ascending order", at, before)
	}
	f.row, f.point = row, at
	return nil
}

// A mergeQueue is a heap of files ordered by their current points.
type mergeQueue []*shardFile

func (q mergeQueue) Len() int { return len(q) }

func (q mergeQueue) Less(i, j int) bool { return q[i].point < q[j].point }

func (q mergeQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

func (q *mergeQueue) Push(x any) { *q = append(*q, x.(*shardFile)) }

func (q *mergeQueue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

// openShards opens the named files. The caller must call closeAll, even after an error.
func openShards(names []string) (files []*shardFile, closeAll func(), err error) {
	closeAll = func() {
		for _, f := range files {
			f.file.Close()
		}
	}
	if len(names) > maxMergeFiles {
		return nil, closeAll, argumentErrorf("too many files: %d; want at most %d", len(names), maxMergeFiles)
	}
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return files, closeAll, err
		}
		files = append(files, &shardFile{name: name, file: f})
		if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
			return files, closeAll, wrapFileError(name, errors.Join(err, errors.New("not a regular file")))
		}
	}
	return files, closeAll, nil
}
