package sweep

import (
	"strconv"
	"strings"
)

// A Shard is part i of n of a sweep's points, with i from 1 to n: every n-th point from point
// i-1 on.
type Shard struct{ i, n int }

// Point returns the number of the shard's k-th point in the sweep.
func (s Shard) Point(k int) int { return k*s.n + s.i - 1 }

// Points returns how many of the sweep's total points are in the shard.
func (s Shard) Points(total int) int { return (total - s.i + s.n) / s.n }

// ParseShard parses I/N. The empty text means all points.
func ParseShard(s string) (Shard, error) {
	if s == "" {
		return Shard{1, 1}, nil
	}
	first, second, _ := strings.Cut(s, "/")
	i, err1 := strconv.Atoi(first)
	n, err2 := strconv.Atoi(second)
	if err1 == nil && err2 == nil && n > MaxPoints {
		return Shard{}, argumentErrorf("%q has more than %d parts", s, MaxPoints)
	}
	if err1 != nil || err2 != nil || i < 1 || i > n {
		return Shard{}, argumentErrorf("%q is not a shard; want I/N with I from 1 to N", s)
	}
	return Shard{i, n}, nil
}
