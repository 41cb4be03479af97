package planar

// Reduction is how a reducing task joins its terms. The numbers are the
// compiler's ZinIrReductionType.
type Reduction uint8

const (
	ReduceSum Reduction = iota
	ReduceMin
	ReduceMax
)
