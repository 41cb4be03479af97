package agreement

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"anesim/bench/internal/npm"
	"anesim/bench/internal/onnxruntime"
	"anesim/bench/internal/reference"
	"anesim/bench/internal/reference/tensor"
	"anesim/bench/internal/summation"
	"anesim/internal/network/onnx"
	"anesim/loader/network"
	"anesim/loader/network/list"
	"anesim/loader/network/partition"
)

var (
	only   = flag.String("networks", "", "part of the name of the networks to compare, with TestNetworks")
	update = flag.Bool("update", false, "write the table of TestNetworks into docs/values.md")
)

// TestNetworks fetches packages with npm where ONNX_NPM is set, and computes their networks on
// the engine and by definition: the engine may be three times as far from the definition as
// fp16 between the nodes, the engine's tables and its sums explain. Bits with tensors in L2 and with
// all of them in memory are equal. What it logs is the table of docs/values.md, which
// -update writes.
func TestNetworks(t *testing.T) {
	if os.Getenv("ONNX_NPM") == "" {
		t.Skip("ONNX_NPM is not set: the networks of npm packages are not fetched")
	}
	if err := onnxruntime.Find(); err != nil {
		t.Log(err)
	}
	table := []string{measuredHead}
	known := map[[32]byte]bool{}
	for _, p := range npm.Packages {
		networks, err := npm.Fetch(t.TempDir(), p.Name)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range slices.Sorted(maps.Keys(networks)) {
			if sum := sha256.Sum256(networks[name]); !strings.Contains(name, *only) || known[sum] {
				continue
			} else {
				known[sum] = true
			}
			dims := p.DimsOf(name)
			start := time.Now()
			row, err := measure(networks[name], cmp.Or(dims.Few, dims.Sizes), t.TempDir())
			if err == errLarge {
				t.Logf("%s: %s: %v", p.Name, name, err)
				continue
			}
			if err != nil {
				t.Errorf("%s: %s: %v", p.Name, name, err)
				continue
			}
			t.Logf("%s: %s: %.0f s; largest magnitude %g; %q", p.Name, name, time.Since(start).Seconds(), row.largest, row.notes)
			if what := row.listProblems(); what != "" {
				t.Errorf("%s: %s: %s", p.Name, name, what)
			}
			table = append(table, row.formatRow(fmt.Sprintf("%s (%s)", strings.TrimSuffix(name, ".onnx"), p.Name)))
		}
	}
	t.Logf("\n%s", strings.Join(table, "\n"))
	if *update && *only == "" {
		if err := writeTable(filepath.Join("..", "..", "..", "docs", "values.md"), table); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFiles measures the files in ONNX_FILES like TestNetworks. The variable has file names
// separated by spaces, each with its open sizes after an @, as in net.onnx@N=1,H=32.
func TestFiles(t *testing.T) {
	files := strings.Fields(os.Getenv("ONNX_FILES"))
	if len(files) == 0 {
		t.Skip("ONNX_FILES names no ONNX files to compare, as in ONNX_FILES='a.onnx b.onnx@N=1'")
	}
	table := []string{measuredHead}
	for _, name := range files {
		name, sizes, _ := strings.Cut(name, "@")
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		row, err := measure(data, sizes, t.TempDir())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if what := row.listProblems(); what != "" {
			t.Errorf("%s: %s", name, what)
		}
		table = append(table, row.formatRow(filepath.Base(name)))
	}
	t.Logf("\n%s", strings.Join(table, "\n"))
}

// writeTable replaces the table between the two marker comments in the named page.
func writeTable(page string, table []string) error {
	const first, last = "<!-- values: go test ./bench/internal/agreement -run TestNetworks -update -->\n", "<!-- end of the values -->"
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(text), first)
	_, after, ended := strings.Cut(rest, last)
	if !ok || !ended {
		return fmt.Errorf("%s: want the comments %q and %q", page, first, last)
	}
	return os.WriteFile(page, []byte(before+first+strings.Join(table, "\n")+"\n"+last+after), 0o666)
}

// A measurement is a network's row of the table.
type measurement struct {
	coverage  partition.Coverage
	engine    [4]difference // the engine from each definition
	yardstick [4]difference // each definition from the first
	single    difference    // onnxruntime from the first
	compared  bool          // with onnxruntime
	wide      bool          // some magnitudes are beyond fp16, so the definitions round without limiting the range
	agreement float64
	choice    string // the kind of choice that agreement counts, or ""
	largest   float64
	notes     []string
	inMemory  string // how outputs differ with all tensors in memory
	lost      []string
	beyond    []string // outputs that are further from the first than the last explains
}

// definitions are ways to compute a network by definition, from the exact one to the one with
// all of the engine's rounding.
var definitions = [4]reference.Options{
	{},
	{Round: tensor.RoundHalf},
	{Round: tensor.RoundHalf, Function: engineFunction},
	{Round: tensor.RoundHalfAway, Function: engineFunction, Reduce: summation.H13.Reduce},
}

const measuredHead = `| network | nodes | nodes, MACs on the engine | exact: RMS, largest | fp16 between nodes | and tables | and sums | same choice |
|---|---|---|---|---|---|---|---|`

func (r *measurement) formatRow(name string) string {
	c := &r.coverage
	share := func(part, all uint64) float64 { return 100 * float64(part) / float64(max(1, all)) }
	line := fmt.Sprintf("| %s | %d | %.4g%%, %.4g%% | %s, %s |", name, c.Nodes,
		share(uint64(c.Done-c.Hosted), uint64(c.Nodes)), share(c.DoneMACs, c.MACs), formatPercent(r.engine[0].RMS), formatPercent(r.engine[0].Max))
	for i := 1; i < len(definitions); i++ {
		line += fmt.Sprintf(" %s (%s)", formatPercent(r.engine[i].RMS), formatPercent(r.yardstick[i].RMS))
		if r.wide {
			line += "*"
		}
		line += " |"
	}
	if r.choice == "" {
		return line + " |"
	}
	return line + fmt.Sprintf(" %.4g%% of %s |", 100*r.agreement, r.choice)
}

// formatPercent formats a share as a percentage with two digits after the point, or with none from
// 10 % on.
func formatPercent(v float64) string {
	if v < 0.1 {
		return fmt.Sprintf("%.2g%%", 100*v)
	}
	return fmt.Sprintf("%.0f%%", 100*v)
}

// singleTolerance is how far onnxruntime may be from the definition. MLSD keeps the scores
// that equal the largest of their neighbors, and the last bit decides which ones do.
const singleTolerance = 0.02

// minDifference is a distance from the definition that an output may always have, even if
// rounding does not change it.
const minDifference = 0x1p-10

// listProblems returns text that lists the problems with a measured network, or "" if there are
// none.
func (r *measurement) listProblems() string {
	var list []string
	if len(r.lost) > 0 {
		list = append(list, fmt.Sprintf("outputs %q are not computed", r.lost))
	}
	if r.inMemory != "" {
		list = append(list, "with all tensors in memory: "+r.inMemory)
	}
	list = append(list, r.beyond...)
	if r.compared && !(r.single.RMS <= singleTolerance) {
		list = append(list, fmt.Sprintf("onnxruntime is %.3g from the definition", r.single.RMS))
	}
	return strings.Join(list, "; ")
}

var errLarge = errors.New("more than 2e10 multiply-accumulates; -large computes them")

// fairSampleSize is the number of output elements for which one set of inputs is enough.
const fairSampleSize = 256

// measure computes a network with the engine, with package reference, and with onnxruntime if it is
// installed. It uses several sets of inputs if the outputs are small.
func measure(file []byte, sizes string, dir string) (*measurement, error) {
	var o network.Options
	var err error
	if sizes != "" {
		if o.Dims, err = network.ParseDims(sizes); err != nil {
			return nil, err
		}
	}
	n, err := network.ReadONNX(file, o)
	if err != nil {
		return nil, err
	}
	m, err := onnx.Read(file)
	if err != nil {
		return nil, err
	}
	if c := partition.CoverageOf(n, nil); c.MACs > 2e10 && !*large {
		return nil, errLarge
	}
	row := &measurement{}
	var all sample
	for seed := range uint64(8) {
		inputs, err := plausibleInputs(n, m, o.Dims, 1+seed)
		if err != nil {
			return nil, err
		}
		s, err := row.computeSample(n, m, file, inputs, filepath.Join(dir, fmt.Sprint(seed)))
		if err != nil {
			return nil, err
		}
		all.add(s)
		if countElements(s.yardsticks[0]) >= fairSampleSize {
			break
		}
	}
	row.compareSample(&m.Graph, all)
	return row, nil
}

// A sample is the outputs of a network, some of which the engine may not compute.
type sample struct {
	engine     map[string]*tensor.Tensor
	yardsticks [4]map[string]*tensor.Tensor
	single     map[string]*tensor.Tensor // of onnxruntime, nil if it is not there
}

// add appends the outputs for another set of inputs.
func (s *sample) add(t *sample) {
	if s.engine == nil {
		*s = *t
		return
	}
	join := func(to, from map[string]*tensor.Tensor) {
		for name := range to {
			to[name].Data = append(to[name].Data, from[name].Data...)
		}
	}
	join(s.engine, t.engine)
	join(s.single, t.single)
	for i := range s.yardsticks {
		join(s.yardsticks[i], t.yardsticks[i])
	}
}

func countElements(outputs map[string]*tensor.Tensor) (n int) {
	for _, t := range outputs {
		n += len(t.Data)
	}
	return n
}

// computeSample computes the outputs of a network for one set of inputs.
func (r *measurement) computeSample(n *list.Network, m *onnx.Model, file []byte, inputs map[string]*tensor.Tensor, dir string) (*sample, error) {
	n.InMemory = false
	results, coverage, err := runNetwork(n, inputs)
	if err != nil {
		return nil, err
	}
	r.coverage = coverage
	n.InMemory = true
	inMemory, _, err := runNetwork(n, inputs)
	r.inMemory = cmp.Or(r.inMemory, diffBits(outcome{results, nil}, outcome{inMemory, err}))
	s := &sample{engine: map[string]*tensor.Tensor{}}
	if err := r.computeDefinitions(s, m, inputs); err != nil {
		return nil, err
	}
	for _, out := range m.Outputs {
		got, want := results[out.Name], s.yardsticks[0][out.Name]
		if got == nil || got.Data == nil {
			if !slices.Contains(r.lost, out.Name) {
				r.lost = append(r.lost, out.Name)
			}
			continue
		}
		r.notes = got.Notes
		if !slices.Equal(got.Dims, want.Dims) || got.Type != want.Type.String() {
			return nil, fmt.Errorf("output %q is %s %v; want %v %v", out.Name, got.Type, got.Dims, want.Type, want.Dims)
		}
		s.engine[out.Name] = &tensor.Tensor{Type: want.Type, Dims: want.Dims, Data: got.Data}
	}
	s.single, err = runtimeOutputs(m, file, inputs, dir)
	return s, err
}

// computeDefinitions computes the outputs that the engine's results are compared with, in each kind
// of arithmetic.
func (r *measurement) computeDefinitions(s *sample, m *onnx.Model, inputs map[string]*tensor.Tensor) error {
	for i, o := range definitions {
		d := &Network{}
		if i == 0 {
			o.Observe = func(_ *onnx.Node, list []*tensor.Tensor) {
				for _, t := range list {
					d.recordLargest(t)
				}
			}
		} else if r.wide {
			o.Round = roundSignificand
		}
		var err error
		if s.yardsticks[i], err = reference.Run(m, inputs, o); err != nil {
			return err
		}
		if i == 0 {
			r.largest = max(r.largest, d.Largest)
			r.wide = r.largest > 65504
		}
	}
	return nil
}

// compareSample records how far the outputs in s are from the expected ones of each kind.
func (r *measurement) compareSample(g *onnx.Graph, s sample) {
	r.compared = s.single != nil
	for name, got := range s.engine {
		want := s.yardsticks[0][name]
		off, explained := measureDifference(got.Data, want.Data).RMS, measureDifference(s.yardsticks[3][name].Data, want.Data).RMS
		if !(off <= 3*explained+minDifference) {
			r.beyond = append(r.beyond, fmt.Sprintf("%s is %.3g from its definition; fp16, tables and sums explain %.3g", name, off, explained))
		}
		for i, y := range s.yardsticks {
			r.engine[i] = largerDifference(r.engine[i], measureDifference(got.Data, y[name].Data))
			r.yardstick[i] = largerDifference(r.yardstick[i], measureDifference(y[name].Data, want.Data))
		}
		if s.single != nil {
			r.single = largerDifference(r.single, measureDifference(s.single[name].Data, want.Data))
		}
		r.countChoices(producer(g, name), got.Data, want)
	}
}

// countChoices records how often the largest probability is at the same index in got and want. The
// operator op computes the probabilities.
func (r *measurement) countChoices(op string, got []float64, want *tensor.Tensor) {
	switch {
	case r.choice != "" || len(want.Dims) == 0 || len(want.Data) == 0:
	case op == "Softmax":
		columns := want.Dims[len(want.Dims)-1]
		r.choice, r.agreement = fmt.Sprintf("%d rows", len(want.Data)/columns), shareWithSameArgmax(got, want.Data, columns)
	case op == "Sigmoid":
		r.choice, r.agreement = fmt.Sprintf("%d elements", len(want.Data)), shareOnSameSide(got, want.Data)
	}
}

// producer returns the operator that computes the named tensor, skipping operators such as Reshape
// that only change the shape.
func producer(g *onnx.Graph, name string) string {
	for i := len(g.Nodes) - 1; i >= 0; i-- {
		n := &g.Nodes[i]
		if !slices.Contains(n.Outputs, name) {
			continue
		}
		if n.Op != "Identity" && n.Op != "Reshape" && n.Op != "Squeeze" {
			return n.Op
		}
		name = n.Inputs[0]
	}
	return ""
}

// runtimeOutputs returns the outputs that onnxruntime computes, or nil if onnxruntime is not
// installed.
func runtimeOutputs(m *onnx.Model, file []byte, inputs map[string]*tensor.Tensor, dir string) (map[string]*tensor.Tensor, error) {
	if onnxruntime.Find() != nil {
		return nil, nil
	}
	if err := onnxruntime.Save(dir, file, inputs); err != nil {
		return nil, err
	}
	if err := onnxruntime.Run(dir); err != nil {
		return nil, err
	}
	return onnxruntime.Outputs(dir, m)
}
