package vectors

import (
	"errors"
	"fmt"
	"slices"

	"github.com/x448/float16"
)

// listFamilies returns the directories that contain cases, such as "silicon/reduction".
func listFamilies() []string {
	return []string{
		"silicon/reduction", "silicon/accumulate", "silicon/checksums", "silicon/tables", "silicon/special",
		"silicon/runs", "silicon/costdump",
		"synthetic/runs", ExamplesFamily,
	}
}

// A Term is the product of an input X and a weight W, repeated Times times. If Times is 0, the
// product occurs once.
type Term struct {
	Times int  `json:"times,omitempty"`
	X     Half `json:"x"`
	W     Half `json:"w"`
}

// A Reduction is a test of how the multiply-accumulate units sum products. They add the terms in
// order, and do so Repeat times, or once if Repeat is 0. Want is the expected result. A sum whose
// magnitude reaches 32768 is infinite.
type Reduction struct {
	Repeat int    `json:"repeat,omitempty"`
	Terms  []Term `json:"terms"`
	Want   Half   `json:"want"`
}

// Operands returns the input and the weight of every product, in the order in which the units add
// the products. The slices x and w have the same length.
func (r *Reduction) Operands() (x, w []float16.Float16) {
	for range max(1, r.Repeat) {
		for _, t := range r.Terms {
			for range max(1, t.Times) {
				x, w = append(x, float16.Float16(t.X)), append(w, float16.Float16(t.W))
			}
		}
	}
	return x, w
}

func (r *Reduction) validate() error {
	if len(r.Terms) == 0 {
		return errors.New("missing terms; want at least one")
	}
	for _, t := range r.Terms {
		if err := errors.Join(checkRepeatCount(t.Times), checkRepeatCount(r.Repeat*t.Times)); err != nil {
			return err
		}
	}
	return checkRepeatCount(r.Repeat)
}

// Reductions returns the cases in silicon/reduction. Errors are of type *[CaseError].
func Reductions() ([]Case[Reduction], error) { return Load[Reduction](files, "silicon/reduction") }

// An Accumulation holds single sums of products that chips of the later generations computed. These
// chips keep the last bits of terms next to large ones, and they take an operand of infinity for
// 65536.
type Accumulation struct {
	Chips []string `json:"chips"`
	Sums  []Sum    `json:"sums"`
}

// A Sum is a bias plus the products of the elements of X and W. If W is nil, all weights are 1.
type Sum struct {
	X    []Half  `json:"x"`
	W    []Half  `json:"w,omitempty"`
	Bias float32 `json:"bias,omitempty"`
	Want Half    `json:"want"`
}

// Operands returns the input and the weight of every product. The slices x and w have the same
// length.
func (s *Sum) Operands() (x, w []float16.Float16) {
	if s.W == nil {
		const one = 0x3c00
		return toFloat16s(s.X), slices.Repeat([]float16.Float16{one}, len(s.X))
	}
	return toFloat16s(s.X), toFloat16s(s.W)
}

func (a *Accumulation) validate() error {
	if len(a.Chips) == 0 || len(a.Sums) == 0 {
		return errors.New("missing chips or sums; want both")
	}
	for i, s := range a.Sums {
		if len(s.X) == 0 || s.W != nil && len(s.W) != len(s.X) {
			return fmt.Errorf("sum %d has %d inputs and %d weights; want as many weights, or none", i, len(s.X), len(s.W))
		}
	}
	return nil
}

// Accumulations returns the cases in silicon/accumulate. Errors are of type *[CaseError].
func Accumulations() ([]Case[Accumulation], error) {
	return Load[Accumulation](files, "silicon/accumulate")
}

// A Checksum is the relative error that a chip's results for a layer have with pseudo-random inputs:
// the L2 norm of the differences from the results in float32 or float64, divided by the norm of the
// latter. If one of the results changes by one place of fp16, the seventh to tenth digit changes.
type Checksum struct {
	Layer         string   `json:"layer"` // operation and shape
	Inputs        string   `json:"inputs"`
	Outputs       int      `json:"outputs"` // number of elements of the results
	Chips         []string `json:"chips"`
	RelativeError float64  `json:"relative_error"`
	State         State    `json:"state"`
	// Digits is the number of digits of RelativeError that the arithmetic gives. It is 0 if State is
	// [Open]. If it is less than 12, Note says why.
	Digits int    `json:"digits,omitempty"`
	Note   string `json:"note,omitempty"`
}

// A State says how much of a [Checksum] is explained.
type State string

// The states of checksums.
const (
	Exact      State = "exact"       // the arithmetic is known and gives the checksum
	Open       State = "open"        // no known arithmetic gives the checksum
	NotModeled State = "not modeled" // the arithmetic is known, but the model does not have it
)

func (c *Checksum) validate() error {
	switch {
	case c.Layer == "" || c.Inputs == "" || len(c.Chips) == 0:
		return errors.New("missing layer, inputs or chips; want all three")
	case !(c.RelativeError > 0 && c.RelativeError < 1) || c.Outputs <= 0:
		return fmt.Errorf("relative error %g of %d outputs; want an error from 0 to 1, and outputs", c.RelativeError, c.Outputs)
	case c.Digits < 12 && c.Note == "":
		return fmt.Errorf("%d digits without a note; want a note below 12", c.Digits)
	case c.State != Exact && c.State != Open && c.State != NotModeled:
		return fmt.Errorf("unknown state %q; want %q, %q or %q", c.State, Exact, Open, NotModeled)
	case (c.State == Open) != (c.Digits == 0):
		return fmt.Errorf("state %q with %d digits; want digits unless the state is open", c.State, c.Digits)
	}
	return nil
}

// Checksums returns the cases in silicon/checksums. Errors are of type *[CaseError].
func Checksums() ([]Case[Checksum], error) { return Load[Checksum](files, "silicon/checksums") }

// A Special is a test of an operation on unusual operands, such as infinities, NaN and numbers
// whose result overflows. Op is one of:
//
//	add sub mul max square    elementwise on the planar engine
//	sum                       a reduction of In to one element on the planar engine
//	relu                      after the multiply-accumulate units
//	sigmoid tanh erf exp sqrt rsqrt softplus
//	                          by table, after the multiply-accumulate units
//	conv                      In[0] * In[1], a 1x1 convolution of one input channel
//	softmax                   over In
//	slice                     In after a width slice with an offset
//
// In holds the two operands of add, sub, mul, max and conv, and the elements for the other
// operations. Want holds the expected result.
type Special struct {
	Op   string `json:"op"`
	In   []Half `json:"in"`
	Want []Half `json:"want"`
}

// Operands returns s.In and s.Want as fp16 values.
func (s *Special) Operands() (in, want []float16.Float16) {
	return toFloat16s(s.In), toFloat16s(s.Want)
}

func toFloat16s(h []Half) []float16.Float16 {
	f := make([]float16.Float16, len(h))
	for i := range h {
		f[i] = float16.Float16(h[i])
	}
	return f
}

func (s *Special) validate() error {
	if s.Op == "" || len(s.In) == 0 || len(s.Want) == 0 {
		return errors.New(`"op", "in" and "want" are all required`)
	}
	return nil
}

// Specials returns the cases in silicon/special. Errors are of type *[CaseError].
func Specials() ([]Case[Special], error) { return Load[Special](files, "silicon/special") }

// A Run holds inputs of a program and the outputs expected from the device. Either Example or File
// names the program. Example is one of the loader's examples, and File is a program of the vendor's
// compiler. The vendor's programs are not part of the project, so tests skip a case whose file is
// missing.
type Run struct {
	Example string   `json:"example,omitempty"`
	File    string   `json:"file,omitempty"`
	Weights *Half    `json:"weights,omitempty"` // if not nil, replaces every non-zero fp16 constant of the program
	Set     []string `json:"set,omitempty"`     // changes of registers, GROUP.REGISTER.FIELD=VALUE
	Inputs  []Values `json:"inputs"`            // in the order of the program's ports
	Outputs []Values `json:"outputs"`
}

func (r *Run) validate() error {
	if (r.Example == "") == (r.File == "") {
		return fmt.Errorf("example is %q and file is %q; want exactly one of the two", r.Example, r.File)
	}
	if len(r.Inputs) == 0 || len(r.Outputs) == 0 {
		return errors.New("missing inputs or outputs; want at least one of each")
	}
	for _, list := range [][]Values{r.Inputs, r.Outputs} {
		for _, v := range list {
			if err := v.validate(); err != nil {
				return err
			}
		}
	}
	return nil
}

// Runs returns the cases in silicon/runs, followed by those in synthetic/runs. Errors are of
// type *[CaseError].
func Runs() ([]Case[Run], error) {
	cases, err := Load[Run](files, "silicon/runs")
	if err != nil {
		return nil, err
	}
	ours, err := Load[Run](files, "synthetic/runs")
	return append(cases, ours...), err
}

// A CostDump holds the costs that Apple's compiler estimates for a program with one task.
// Kernel, Read and Write are the bytes that DMA transfers.
type CostDump struct {
	File    string            `json:"file"`    // name of the program of Apple's compiler
	Columns map[string]uint64 `json:"columns"` // cycles by unit, under the unit names of the model's reports
	Kernel  uint64            `json:"kernel_dma_bytes"`
	Read    uint64            `json:"read_dma_bytes"`
	Write   uint64            `json:"write_dma_bytes"`
	TimeNS  float64           `json:"time_ns"`
	Rate    float64           `json:"bytes_per_ns"` // the transfer rate from which the compiler computes TimeNS
}

func (c *CostDump) validate() error {
	if c.File == "" || len(c.Columns) == 0 {
		return errors.New("missing file or columns; want both")
	}
	return nil
}

// CostDumps returns the cases in silicon/costdump. Their figures are estimates of the vendor's
// compiler, not measurements. Errors are of type *[CaseError].
func CostDumps() ([]Case[CostDump], error) { return Load[CostDump](files, "silicon/costdump") }

// ExamplesFamily is the directory of the cases that [Examples] returns.
const ExamplesFamily = "derived/examples"

// A Golden holds the results that an earlier version of the model computed for an example program
// on a chip. Tests compare them with the results of the current version. The maps in Descriptors
// are keyed by the names of report columns.
type Golden struct {
	Example     string             `json:"example"`
	Chip        string             `json:"chip"`
	Seed        uint64             `json:"seed"` // seed of the pseudo-random inputs
	Descriptors []GoldenDescriptor `json:"descriptors"`
	Outputs     []GoldenOutput     `json:"outputs"`
}

// A GoldenDescriptor holds the costs of one descriptor in a [Golden]. A descriptor is one task of
// the engine.
type GoldenDescriptor struct {
	Op       string            `json:"op"`
	Cycles   map[string]uint64 `json:"cycles"` // cycles by the cause that bounds them, such as reading the source
	Units    map[string]uint64 `json:"units"`
	DMA      map[string]uint64 `json:"dma_bytes"`
	Exe      uint16            `json:"exe_model"` // Apple's estimate of the duration in microseconds, as the model computes it
	MACs     uint64            `json:"macs"`
	Counters map[string]uint64 `json:"counters"`
}

// A GoldenOutput holds the checksum of a program's output. It is the CRC-32 (IEEE polynomial) of
// the elements as little-endian fp16 values in N, C, H, W order, in hexadecimal.
type GoldenOutput struct {
	Name  string `json:"name"`
	Shape [4]int `json:"shape"`
	CRC32 string `json:"crc32"`
}

func (g *Golden) validate() error {
	if g.Example == "" || g.Chip == "" || len(g.Descriptors) == 0 || len(g.Outputs) == 0 {
		return errors.New("missing example, chip, descriptors or outputs; want all four")
	}
	return nil
}

// Examples returns the cases in derived/examples: one for each example program of the loader on
// each chip. Errors are of type *[CaseError].
func Examples() ([]Case[Golden], error) { return Load[Golden](files, ExamplesFamily) }
