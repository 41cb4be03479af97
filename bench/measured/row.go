package measured

import "fmt"

// A Shape describes the operation of a row. A dimension is zero if the operation does not have it
// or the source does not give it.
type Shape struct {
	N, Cin, H, W   int // of a convolution's source; N is also used for heads or sequences
	Cout, Kh, Kw   int
	Stride, Groups int
	M, K, Cols     int // a matmul [M,K] times [K,Cols], or a tensor [M,K]
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
	Weights string // format, empty if the source does not give it
	// NoHost says that the latency has no host part: it is from a zero-copy loop, or a slope per
	// layer.
	NoHost    bool
	Valid     bool    // a convolution without padding
	Latency   float64 // microseconds, the shortest wall time of a call; 0 if not published
	Sustained float64 // microseconds, the mean of calls in a loop; 0 if not published
	Power     float64 // watts of the engine's rail, 0 if not published
	Energy    float64 // millijoules of the engine's rail, 0 if not published
	Bytes     uint64  // bytes of device memory that a dispatch moves, 0 if not published
	GFLOPS    float64 // published instead of a latency
	Source    string
}

// Cold reports whether the published latency, the shortest of some calls, exceeds the mean of calls
// in a loop. Such calls were made before the engine or its memory had reached full speed.
func (r *Row) Cold() bool { return r.Sustained > 0 && r.Latency > r.Sustained }

// Warm returns the latency in microseconds of a call at full speed, the smaller of the published
// latencies.
func (r *Row) Warm() float64 {
	if r.Cold() {
		return r.Sustained
	}
	return r.Latency
}

// A RowError reports a line or a cell that cannot be parsed.
type RowError struct {
	Line int    // from 1
	What string // the column or the error
	Err  error  // why the value of the column is invalid, or nil
}

func (e *RowError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("line %d: %s: %v", e.Line, e.What, e.Err)
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.What)
}

func (e *RowError) Unwrap() error { return e.Err }
