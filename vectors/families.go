package vectors

import (
	"errors"
	"fmt"

	"github.com/x448/float16"
)

// Families are the directories of FS that hold cases.
func Families() []string {
	return []string{
		"silicon/reduction", "silicon/special", "silicon/runs", "silicon/costdump",
		"synthetic/runs", ExamplesFamily,
	}
}

// A Term is Times equal taps one after another; no Times is one.
type Term struct {
	Times int  `json:"times,omitempty"`
	X     Half `json:"x"`
	W     Half `json:"w"`
}

// A Reduction is one output of the multiply-accumulate units: the terms in the order of
// the coefficient stream, all of them Repeat times (no Repeat is once), through the port
// that ends at 32768.
type Reduction struct {
	Repeat int    `json:"repeat,omitempty"`
	Terms  []Term `json:"terms"`
	Want   Half   `json:"want"`
}

// Operands are the inputs and the weights, tap by tap.
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

func (r *Reduction) check() error {
	if len(r.Terms) == 0 {
		return errors.New("no terms")
	}
	for _, t := range r.Terms {
		if err := errors.Join(checkTimes(t.Times), checkTimes(r.Repeat*t.Times)); err != nil {
			return err
		}
	}
	return checkTimes(r.Repeat)
}

// Reductions are the cases of silicon/reduction.
func Reductions() ([]Case[Reduction], error) { return Load[Reduction](files, "silicon/reduction") }

// A Special is an operation at the edge of its range. Op names it:
//
//	add sub mul max square    element by element on the planar engine
//	sum                       a reduction of In to one element on the planar engine
//	relu                      behind the multiply-accumulate units
//	sigmoid tanh erf exp sqrt rsqrt softplus
//	                          by table, behind the multiply-accumulate units
//	conv                      In[0] * In[1], a 1x1 convolution of one input channel
//	softmax                   over In
//	slice                     In behind a width slice with an offset
//
// In is the two operands of add, sub, mul, max and conv, and the elements of the others.
type Special struct {
	Op   string `json:"op"`
	In   []Half `json:"in"`
	Want []Half `json:"want"`
}

// Operands are In and Want as numbers.
func (s *Special) Operands() (in, want []float16.Float16) { return numbers(s.In), numbers(s.Want) }

func numbers(h []Half) []float16.Float16 {
	f := make([]float16.Float16, len(h))
	for i := range h {
		f[i] = float16.Float16(h[i])
	}
	return f
}

func (s *Special) check() error {
	if s.Op == "" || len(s.In) == 0 || len(s.Want) == 0 {
		return errors.New("op, in and want must be there")
	}
	return nil
}

// Specials are the cases of silicon/special.
func Specials() ([]Case[Special], error) { return Load[Special](files, "silicon/special") }

// A Run is a program with inputs and the outputs it must give. The program is one of the
// loader's examples, or a file among the real programs, which are not part of the
// project.
type Run struct {
	Example string   `json:"example,omitempty"`
	File    string   `json:"file,omitempty"`
	Weights *Half    `json:"weights,omitempty"` // replaces every non-zero half of the constants
	Set     []string `json:"set,omitempty"`     // register what-ifs, GROUP.REGISTER.FIELD=VALUE
	Inputs  []Values `json:"inputs"`            // in the order of the program's ports
	Outputs []Values `json:"outputs"`
}

func (r *Run) check() error {
	if (r.Example == "") == (r.File == "") {
		return fmt.Errorf("example %q and file %q: one of them must be there", r.Example, r.File)
	}
	if len(r.Inputs) == 0 || len(r.Outputs) == 0 {
		return errors.New("no inputs or no outputs")
	}
	for _, list := range [][]Values{r.Inputs, r.Outputs} {
		for _, v := range list {
			if err := v.check(); err != nil {
				return err
			}
		}
	}
	return nil
}

// Runs are the cases of silicon/runs and synthetic/runs.
func Runs() ([]Case[Run], error) {
	cases, err := Load[Run](files, "silicon/runs")
	if err != nil {
		return nil, err
	}
	ours, err := Load[Run](files, "synthetic/runs")
	return append(cases, ours...), err
}

// A CostDump is what the vendor's compiler says a program of one task costs.
type CostDump struct {
	File    string            `json:"file"`    // among the real programs
	Columns map[string]uint64 `json:"columns"` // by the names of a report's units
	Kernel  uint64            `json:"kernel_dma_bytes"`
	Read    uint64            `json:"read_dma_bytes"`
	Write   uint64            `json:"write_dma_bytes"`
	TimeNS  float64           `json:"time_ns"`
	Rate    float64           `json:"bytes_per_ns"` // of which the time is made
}

func (c *CostDump) check() error {
	if c.File == "" || len(c.Columns) == 0 {
		return errors.New("file and columns must be there")
	}
	return nil
}

// CostDumps are the cases of silicon/costdump: made by the vendor's compiler, not by a
// machine.
func CostDumps() ([]Case[CostDump], error) { return Load[CostDump](files, "silicon/costdump") }

// ExamplesFamily is the directory of Examples.
const ExamplesFamily = "derived/examples"

// A Golden is what the model said of an example program. Numbers go by the names that a
// report has for them.
type Golden struct {
	Example     string             `json:"example"`
	Chip        string             `json:"chip"`
	Seed        uint64             `json:"seed"` // of the inputs
	Descriptors []GoldenDescriptor `json:"descriptors"`
	Outputs     []GoldenOutput     `json:"outputs"`
}

// A GoldenDescriptor is one descriptor of a Golden.
type GoldenDescriptor struct {
	Op       string            `json:"op"`
	Cycles   map[string]uint64 `json:"cycles"` // by cause
	Units    map[string]uint64 `json:"units"`
	DMA      map[string]uint64 `json:"dma_bytes"`
	Exe      uint16            `json:"exe_model"` // microseconds
	MACs     uint64            `json:"macs"`
	Counters map[string]uint64 `json:"counters"`
}

// A GoldenOutput is a checksum of an output: CRC-32 (IEEE) of its halves in N, C, H, W
// order, little-endian.
type GoldenOutput struct {
	Name  string `json:"name"`
	Shape [4]int `json:"shape"`
	CRC32 string `json:"crc32"`
}

func (g *Golden) check() error {
	if g.Example == "" || g.Chip == "" || len(g.Descriptors) == 0 || len(g.Outputs) == 0 {
		return errors.New("example, chip, descriptors and outputs must be there")
	}
	return nil
}

// Examples are the cases of derived/examples: every example program on every chip.
func Examples() ([]Case[Golden], error) { return Load[Golden](files, ExamplesFamily) }
