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
	NoHost  bool
	Valid   bool    // a convolution without padding
	Latency float64 // microseconds, 0 when it was not published
	Power   float64 // watts of the engine's rail, 0 when not published
	Energy  float64 // millijoules of the engine's rail, 0 when not published
	Bytes   uint64  // of device memory a dispatch moves, 0 when not published
	GFLOPS  float64 // published in place of a latency
	Source  string
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
