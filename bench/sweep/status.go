package sweep

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"anesim/bench/report"
)

// stalePeriod is the time without a new row after which an incomplete shard counts as stale.
const stalePeriod = time.Minute

// maxAge is an age in seconds that no file reaches. A file that seems older has no known
// creation time.
const maxAge = 1e9

// A Status is the progress of a shard as its file shows it.
type Status struct {
	Rows   int
	first  int     // first point, -1 if there is none
	cut    bool    // the last row is incomplete
	Rate   float64 // rows per second, 0 if unknown
	wrote  time.Time
	header []byte
	origin string // of the first row
	Err    error
}

// Points returns how many of a sweep's points the shard has to time, or 0 if that is unknown.
// The shard's number follows from its first row.
func (s *Status) Points(points, shards int) int {
	if points == 0 || s.first < 0 || s.first >= shards {
		return 0
	}
	return Shard{s.first + 1, shards}.Points(points)
}

// ReadStatus reads the progress of the named files. If over is positive, it reads them twice,
// that long apart, and measures the rates in between; otherwise it estimates them from the
// age of the files. Errors are in Status.Err, also for a file of another sweep than the
// first.
func ReadStatus(names []string, over time.Duration) []Status {
	list := make([]Status, len(names))
	for i, name := range names {
		list[i] = readStatus(name)
	}
	if over > 0 {
		time.Sleep(over)
		for i, name := range names {
			again := readStatus(name)
			again.Rate = max(0, float64(again.Rows-list[i].Rows)/over.Seconds())
			list[i] = again
		}
	}
	first := -1
	for i := range list {
		s := &list[i]
		if s.Err != nil || s.Rows == 0 {
			continue
		}
		if first < 0 {
			first = i
			continue
		}
		switch f := &list[first]; {
		case !slices.Equal(f.header, s.header):
			s.Err = errors.New("belongs to another sweep than " + report.Printable(names[first]))
		case f.origin != s.origin:
			s.Err = fmt.Errorf("belongs to another sweep than %s: %s", report.Printable(names[first]), diffOrigins(s.origin, f.origin))
		}
	}
	return list
}

// State returns the shard's state in words and whether it is under way. The parameter all is
// the number of its points, 0 if unknown.
func (s *Status) State(all int, now time.Time) (string, bool) {
	age := now.Sub(s.wrote).Round(time.Second)
	switch {
	case all > 0 && s.Rows == all && !s.cut:
		return "done", false
	case all > 0 && s.Rows > all:
		return "more rows than its shard has", false
	case age > stalePeriod:
		return fmt.Sprintf("stale, last row %v ago", age), false
	case s.cut:
		return "under way, inside a row", true
	}
	return "under way", true
}

// readStatus reads a file of rows and returns its status.
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
		s.Err = errors.Join(err, errors.New("is not a regular file"))
		return s
	}
	s.wrote = info.ModTime()
	defer func() {
		if t := s.wrote.Sub(creationTime(f)).Seconds(); t > 0 && t < maxAge {
			s.Rate = float64(s.Rows) / t
		}
	}()
	m := &shardFile{name: name, file: f}
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
