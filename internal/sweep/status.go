package sweep

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"anesim/internal/report"
)

// stalePeriod is the time without a new row after which an incomplete shard counts as stale.
const stalePeriod = time.Minute

// maxAge is an age in seconds that no file reaches. A file that seems older has no known
// creation time.
const maxAge = 1e9

// A Status describes the progress of a process that times one shard of a sweep. It is read from the
// file that the process writes.
type Status struct {
	Rows   int     // complete rows in the file
	first  int     // first point, -1 if there is none
	cut    bool    // the last row is incomplete
	Rate   float64 // rows per second, 0 if unknown
	wrote  time.Time
	header []byte
	origin string // of the first row
	Err    error  // why the file could not be read, or nil
}

// Points returns the number of points in the shard, given the number of shards of the whole sweep. It
// returns 0 if the file has no rows to show which shard it is.
func (s *Status) Points(shards int) int {
	points := s.SweepPoints()
	if points == 0 || s.first >= shards {
		return 0
	}
	return Shard{s.first + 1, shards}.Points(points)
}

// SweepPoints returns the number of points of the whole sweep, or 0 if the file has no rows to show
// it.
func (s *Status) SweepPoints() int {
	if s.first < 0 {
		return 0
	}
	n, _ := parsePointCount(s.origin)
	return n
}

// ReadStatus returns the status of each of the named files, one per shard of a sweep. If interval
// is positive, ReadStatus reads the files again after that time to measure their rates. Otherwise a
// rate is the number of rows divided by the time from the creation of the file to its last change.
// If a file cannot be read, belongs to another sweep than the first file with rows, or has the shard
// of a file before it, Status.Err says so.
func ReadStatus(names []string, interval time.Duration) []Status {
	list := make([]Status, len(names))
	for i, name := range names {
		list[i] = readStatus(name)
	}
	if interval > 0 {
		// All files share one wait, as the shards run at the same time.
		time.Sleep(interval)
		for i, name := range names {
			again := readStatus(name)
			again.Rate = max(0, float64(again.Rows-list[i].Rows)/interval.Seconds())
			list[i] = again
		}
	}
	first := -1
	shards := map[int]string{} // names of the files by their first point
	for i := range list {
		s := &list[i]
		if s.Err != nil || s.Rows == 0 {
			continue
		}
		if first < 0 {
			first = i
		}
		switch f := &list[first]; {
		case !slices.Equal(f.header, s.header):
			s.Err = fmt.Errorf("columns differ from those of %s; want files from the same sweep", report.Printable(names[first]))
		case f.origin != s.origin:
			s.Err = fmt.Errorf("sweep settings differ from those of %s: %s", report.Printable(names[first]), describeOriginDifference(s.origin, f.origin))
		case shards[s.first] != "":
			s.Err = fmt.Errorf("same shard as %s; want each shard once", report.Printable(shards[s.first]))
		default:
			shards[s.first] = names[i]
		}
	}
	return list
}

// State returns a description of the shard's state, such as "done" or "stale, last row 2m0s ago",
// and reports whether its process seems to be running. The argument points is the number of points
// in the shard, or 0 if it is unknown. The argument now is the current time.
func (s *Status) State(points int, now time.Time) (string, bool) {
	age := now.Sub(s.wrote).Round(time.Second)
	switch {
	case points > 0 && s.Rows == points && !s.cut:
		return "done", false
	case points > 0 && s.Rows > points:
		return "more rows than its shard has", false
	case age > stalePeriod:
		return fmt.Sprintf("stale, last row %v ago", age), false
	case s.cut:
		return "under way, inside a row", true
	}
	return "under way", true
}

// readStatus reads the named file of rows and returns its status.
func readStatus(name string) (s Status) {
	s.first = -1
	f, err := os.Open(name)
	if err != nil {
		s.Err = err
		return s
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		s.Err = errors.Join(err, errors.New("not a regular file"))
		return s
	}
	s.wrote = info.ModTime()
	defer func() {
		if t := s.wrote.Sub(creationTime(f)).Seconds(); t > 0 && t < maxAge {
			s.Rate = float64(s.Rows) / t
		}
	}()
	m := &shardFile{name: name, file: f}
	// A shard that has just begun is no error.
	if info.Size() == 0 {
		return s
	}
	if err := m.readHeader(); m.torn {
		s.cut = true
		return s
	} else if err != nil {
		s.Err = err
		return s
	}
	s.header = m.header
	for {
		before := m.point
		switch err := m.readRow(); {
		// A writer may be in the middle of a row while the file is read.
		case m.torn:
			s.cut = true
			return s
		case err != nil:
			s.Err = err
			return s
		case m.point < 0:
			return s
		}
		if before < 0 {
			s.first, s.origin = m.point, rowOrigin(m.row)
		}
		s.Rows++
	}
}
