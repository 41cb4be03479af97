package measured

import "fmt"

// A Shape is what a row ran; a dimension that its operation lacks, or that the source
// leaves out, is zero.
type Shape struct {
	N, Cin, H, W   int // of a convolution's source; N also heads or sequences
	Cout, Kh, Kw   int
	Stride, Groups int
	M, K, Cols     int // a matrix product [M,K] times [K,Cols], or a tensor [M,K]
	Depth          int // layers of a chain or model
}

// A Row is one published measurement.
type Row struct {
	ID      string
	Tier    string // T0 engine-dominated, T1 mixed, T2 host-dominated, T3 without shape
	Chip    string
	Machine string
	Op      string
	Shape
	Weights string // format, empty when the source does not say
	// NoHost says that the latency has no host part: a zero-copy loop, or a slope per
	// layer.
	NoHost    bool
	Valid     bool    // a convolution without padding
	Latency   float64 // microseconds, the least wall time of a call; 0 when not published
	Sustained float64 // microseconds, the mean of calls in a loop; 0 when not published
	Power     float64 // watts of the engine's rail, 0 when not published
	Energy    float64 // millijoules of the engine's rail, 0 when not published
	Bytes     uint64  // of device memory a dispatch moves, 0 when not published
	GFLOPS    float64 // published in place of a latency
	Source    string
}

// Cold reports that the published latency, the least of some calls, exceeds the mean of a
// loop of them: those calls were made before the engine or its memory had come up to
// speed.
func (r *Row) Cold() bool { return r.Sustained > 0 && r.Latency > r.Sustained }

// Warm is the latency in microseconds of a call that finds the engine at speed: the least
// of what was published.
func (r *Row) Warm() float64 {
	if r.Cold() {
		return r.Sustained
	}
	return r.Latency
}

// A RowError is a line or a cell that is not a row.
type RowError struct {
	Line int    // from 1
	What string // the column or the problem
	Err  error  // nil, or why its value does not parse
}

func (e *RowError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("line %d: %s: %v", e.Line, e.What, e.Err)
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.What)
}

func (e *RowError) Unwrap() error { return e.Err }
