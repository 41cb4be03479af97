package measured

import "fmt"

// A Shape has the dimensions of a measured operation. A dimension is 0 if the operation does not
// have it or the source of the measurement omits it.
type Shape struct {
	N, Cin, H, W   int // source of a convolution; N is also the number of heads or of sequences
	Cout, Kh, Kw   int // output channels, height and width of the kernel of a convolution
	Stride, Groups int
	M, K, Cols     int // a matmul of [M,K] and [K,Cols], or a tensor [M,K]
	Depth          int // number of layers of a chain or model
}

// A Row is one published measurement of an operation on a chip.
type Row struct {
	ID      string
	Tier    string // "T0" if the engine takes most of the time, "T1" mixed, "T2" if the host does, "T3" without a shape
	Chip    string
	Machine string
	Op      string
	Shape
	Weights string // format of the weights, "" if the source does not give it
	// NoHost is true if the latency excludes the host's part of a call. Such a latency is from a
	// loop that does not copy its buffers, or it is the increase of the time per added layer.
	NoHost bool
	Valid  bool // the convolution has no padding
	// Clock is the engine's clock in MHz if it is known to be below the chip's highest state, and
	// otherwise 0.
	Clock int
	// Path is the software between the caller and the engine, for rows of [LaterRows].
	Path string
	// Shared is true if all layers of a chain have the same weights.
	Shared bool
	// Activations is the format of activations, "" for fp16.
	Activations string
	// Unexplained is true if the source does not say how it measured, and no mechanism explains the
	// time. No constant is fitted to such a row.
	Unexplained bool
	Latency     float64 // shortest wall time of a call in microseconds, 0 if not published
	Sustained   float64 // mean wall time of calls in a loop in microseconds, 0 if not published
	Power       float64 // power of the engine's supply in watts, 0 if not published
	Energy      float64 // energy from the engine's supply in millijoules, 0 if not published
	Bytes       uint64  // bytes that one execution reads and writes in memory, 0 if not published
	GFLOPS      float64 // billions of operations per second, for sources that give no latency
	Source      string
}

// Cold reports whether the row's single calls ran before the engine and its memory reached full
// speed. It returns true if even the shortest of them took longer than the mean call in a loop, and
// false if either time was not published.
func (r *Row) Cold() bool { return r.Sustained > 0 && r.Latency > r.Sustained }

// Warm returns the wall time of a call at full speed, in microseconds: r.Sustained if the row is
// cold, and r.Latency otherwise.
func (r *Row) Warm() float64 {
	if r.Cold() {
		return r.Sustained
	}
	return r.Latency
}

// A RowError reports a line of a CSV file that is not a valid row.
type RowError struct {
	Line int    // number of the line, from 1
	What string // name of the invalid column, or what is wrong with the line
	Err  error  // why the column is invalid, or nil if What is not a column
}

func (e *RowError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("line %d: %s: %v", e.Line, e.What, e.Err)
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.What)
}

func (e *RowError) Unwrap() error { return e.Err }
