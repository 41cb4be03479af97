package vectors

import (
	"errors"
	"fmt"

	"github.com/x448/float16"
)

// Families returns the directories of FS that contain cases.
func Families() []string {
	return []string{
		"silicon/reduction", "silicon/special", "silicon/runs", "silicon/costdump",
		"synthetic/runs", ExamplesFamily,
	}
}

// A Term stands for Times equal taps in a row; 0 means one.
type Term struct {
	Times int  `json:"times,omitempty"`
	X     Half `json:"x"`
	W     Half `json:"w"`
}

// A Reduction is one output of the multiply-accumulate units: the terms in the order of the
// coefficient stream, the whole list Repeat times (0 means once), with the output port that is
// limited to 32768.
type Reduction struct {
	Repeat int    `json:"repeat,omitempty"`
	Terms  []Term `json:"terms"`
	Want   Half   `json:"want"`
}

// Operands returns the inputs and the weights of all taps.
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
		return errors.New("missing terms")
	}
	for _, t := range r.Terms {
		if err := errors.Join(checkTimes(t.Times), checkTimes(r.Repeat*t.Times)); err != nil {
			return err
		}
	}
	return checkTimes(r.Repeat)
}

// Reductions returns the cases of silicon/reduction.
func Reductions() ([]Case[Reduction], error) { return Load[Reduction](files, "silicon/reduction") }

// A Special is an operation at the limits of its range. Op is one of:
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
// operations.
type Special struct {
	Op   string `json:"op"`
	In   []Half `json:"in"`
	Want []Half `json:"want"`
}

// Operands returns In and Want as fp16 values.
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
		return errors.New("missing op, in or want")
	}
	return nil
}

// Specials returns the cases of silicon/special.
func Specials() ([]Case[Special], error) { return Load[Special](files, "silicon/special") }

// A Run is a program with inputs and expected outputs. The program is one of the loader's examples,
// or a file of the real programs, which are not part of the project.
type Run struct {
	Example string   `json:"example,omitempty"`
	File    string   `json:"file,omitempty"`
	Weights *Half    `json:"weights,omitempty"` // replaces every non-zero half of the constants
	Set     []string `json:"set,omitempty"`     // register changes, GROUP.REGISTER.FIELD=VALUE
	Inputs  []Values `json:"inputs"`            // in the order of the program's ports
	Outputs []Values `json:"outputs"`
}

func (r *Run) check() error {
	if (r.Example == "") == (r.File == "") {
		return fmt.Errorf("found example %q and file %q; want exactly one of them", r.Example, r.File)
	}
	if len(r.Inputs) == 0 || len(r.Outputs) == 0 {
		return errors.New("missing inputs or outputs")
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

// Runs returns the cases of silicon/runs and synthetic/runs.
func Runs() ([]Case[Run], error) {
	cases, err := Load[Run](files, "silicon/runs")
	if err != nil {
		return nil, err
	}
	ours, err := Load[Run](files, "synthetic/runs")
	return append(cases, ours...), err
}

// A CostDump holds the costs that the vendor's compiler computes for a program with one task.
type CostDump struct {
	File    string            `json:"file"`    // name of the real program
	Columns map[string]uint64 `json:"columns"` // by the names of a report's units
	Kernel  uint64            `json:"kernel_dma_bytes"`
	Read    uint64            `json:"read_dma_bytes"`
	Write   uint64            `json:"write_dma_bytes"`
	TimeNS  float64           `json:"time_ns"`
	Rate    float64           `json:"bytes_per_ns"` // the rate that the time is computed from
}

func (c *CostDump) check() error {
	if c.File == "" || len(c.Columns) == 0 {
		return errors.New("missing file or columns")
	}
	return nil
}

// CostDumps returns the cases of silicon/costdump. They were made by the vendor's compiler, not
// measured.
func CostDumps() ([]Case[CostDump], error) { return Load[CostDump](files, "silicon/costdump") }

// ExamplesFamily is the directory of Examples.
const ExamplesFamily = "derived/examples"

// A Golden holds earlier results of the model for an example program. The keys of its maps are
// those of reports.
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

// A GoldenOutput is a checksum of an output: the CRC-32 (IEEE) of its halves in N, C, H, W order,
// little-endian.
type GoldenOutput struct {
	Name  string `json:"name"`
	Shape [4]int `json:"shape"`
	CRC32 string `json:"crc32"`
}

func (g *Golden) check() error {
	if g.Example == "" || g.Chip == "" || len(g.Descriptors) == 0 || len(g.Outputs) == 0 {
		return errors.New("missing example, chip, descriptors or outputs")
	}
	return nil
}

// Examples returns the cases of derived/examples: every example program on every chip.
func Examples() ([]Case[Golden], error) { return Load[Golden](files, ExamplesFamily) }
