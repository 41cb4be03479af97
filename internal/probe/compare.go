package probe

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"anesim"
	"anesim/hw"
	"anesim/internal/datapath/mac"
	"anesim/internal/network/coreml"
	"anesim/internal/report"
)

// A Verdict says whether results follow a rule.
type Verdict string

// The verdicts.
const (
	Holds     Verdict = "holds"     // all results that decide the rule are as the model's
	Differs   Verdict = "differs"   // some are not, and for a rule with deciding results another rule gives nearly all
	Unclear   Verdict = "unclear"   // neither the rule nor a known alternative gives the results that decide it
	Elsewhere Verdict = "elsewhere" // Core ML computed the layer on a processor or GPU
	Missing   Verdict = "missing"   // the file lacks results of the layer
	Open      Verdict = "open"      // no published result confirms the model's rule
)

// A Document compares a file of results with the rules of a chip.
type Document struct {
	report.Header
	Chip    string `json:"chip"`
	Machine string `json:"machine"` // that wrote the results
	System  string `json:"system"`
	Holds   int    `json:"holds"` // number of rules
	Rules   int    `json:"rules"` // that are not open
	// Explanation is the one deviation from the chip's rules that gives all results of sums, or "".
	Explanation string   `json:"explanation"`
	Answers     []Answer `json:"answers"`
}

// An Answer says whether results follow a rule.
type Answer struct {
	Rule      string  `json:"rule"`
	Statement string  `json:"statement"`
	Verdict   Verdict `json:"verdict"`
	Equal     int     `json:"equal"` // number of results that are the model's
	Of        int     `json:"of"`    // number of results that decide the rule
	// LargestSteps is the largest difference from the model, in fp16 numbers from one to the other.
	LargestSteps int `json:"largest_steps"`
	// Fit names the alternative with the most equal results, if it gives nearly all and more than the
	// model, or if the rule is open and some results differ from the model's.
	Fit   *Fit        `json:"fit,omitempty"`
	First *Difference `json:"first,omitempty"` // the first result that differs
	// RelativeError is that of a layer for which chips printed it, and PrintedBy the chips that printed
	// the same number.
	RelativeError float64 `json:"relative_error,omitempty"`
	PrintedBy     string  `json:"printed_by,omitempty"`
	Device        string  `json:"device,omitempty"` // of the first layer that Core ML did not give to the engine
}

// A Fit names another rule, and counts the results that it gives.
type Fit struct {
	Rule  string `json:"rule"`
	Equal int    `json:"equal"`
	// Constant is the constant of the chip, with its value, that makes this the model's rule, or "".
	Constant string `json:"constant,omitempty"`
}

// A Difference holds a result that differs from the model's.
type Difference struct {
	Output   string `json:"output"`
	Index    []int  `json:"index"`
	Expected string `json:"expected"` // a number, "inf", "-inf" or "nan"
	Found    string `json:"found"`
}

// Expected returns the results that the model computes for the probe on a chip, as the script writes
// them.
func Expected(ctx context.Context, c hw.Chip) (*Results, error) {
	m := theModel()
	values, err := m.computeOutputs(ctx, c)
	if err != nil {
		return nil, err
	}
	r := &Results{Probe: identity(), Machine: "anesim", System: c.Name, Devices: map[string]string{}, Outputs: map[string]Tensor{}}
	for _, q := range m.questions {
		var bits strings.Builder
		for _, v := range values[q.name] {
			fmt.Fprintf(&bits, "%04x", uint16(v))
		}
		r.Devices[q.name] = engineDevice
		r.Outputs[q.name] = Tensor{q.shape, bits.String(), values[q.name]}
	}
	return r, nil
}

// computeOutputs computes the outputs of the probe's model.
func (b *builder) computeOutputs(ctx context.Context, c hw.Chip) (map[string][]half, error) {
	data := coreml.Encode(b.toProgram())
	m, err := anesim.Read("probe.mlmodel", bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	o := anesim.Options{Chip: c, Values: true, Inputs: map[string][]half{}}
	for _, in := range b.inputs {
		o.Inputs[in.name] = in.data
	}
	r, err := m.Run(ctx, o)
	if err != nil {
		return nil, err
	}
	values := map[string][]half{}
	for i := range r.Outputs {
		values[r.Outputs[i].Port.Name] = r.Outputs[i].Data
	}
	for _, q := range b.questions {
		if len(values[q.name]) != q.countElements() {
			return nil, fmt.Errorf("probe: the model computes %d values of %s; want %d", len(values[q.name]), q.name, q.countElements())
		}
	}
	return values, nil
}

// A comparison compares a machine's results with the model's.
type comparison struct {
	questions map[string]*question
	expected  map[string][]half
	results   *Results
	plain     *arithmetic     // of the chip, but for large terms
	base      map[result]half // by the plain arithmetic
	settled   map[result]bool // for [comparison.isSettled]
}

// A result names an element of an output.
type result struct {
	output string
	index  int
}

func newComparison(r *Results, m *builder, expected map[string][]half, c *hw.Chip) *comparison {
	x := &comparison{map[string]*question{}, expected, r, newPlainArithmetic(c), map[result]half{}, map[result]bool{}}
	for _, q := range m.questions {
		x.questions[q.name] = q
	}
	return x
}

// Compare compares results with the model's for a chip. It returns an error if ctx is done
// or the model refuses the chip's constants.
func Compare(ctx context.Context, r *Results, c hw.Chip) (*Document, error) {
	m := theModel()
	expected, err := m.computeOutputs(ctx, c)
	if err != nil {
		return nil, err
	}
	x := newComparison(r, m, expected, &c)
	rules := listRules(&c)
	d := &Document{Header: report.NewHeader(), Chip: c.Name, Machine: r.Machine, System: r.System, Answers: []Answer{}}
	for i := range rules {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		a := x.answerRule(&rules[i])
		if !rules[i].open {
			d.Rules++
		}
		if a.Verdict == Holds {
			d.Holds++
		}
		d.Answers = append(d.Answers, a)
	}
	d.Explanation = x.findExplanation(rules)
	return d, nil
}

// An item names a result that decides a rule.
type item struct {
	q     *question
	index int
	other []half // what the rule's alternatives give
}

func (x *comparison) answerRule(r *rule) Answer {
	a := Answer{Rule: r.name, Statement: r.statement}
	var asked []*question
	for _, name := range r.questions {
		switch _, ok := x.results.Outputs[name]; {
		case !ok:
			a.Verdict = Missing
		case x.ranOnProcessor(name):
			a.Device = cmp.Or(a.Device, x.results.Devices[name])
		default:
			asked = append(asked, x.questions[name])
		}
	}
	if a.Verdict == Missing {
		return a
	}
	if len(asked) == 0 {
		a.Verdict = Elsewhere
		return a
	}
	equal := make([]int, len(r.alternatives))
	for _, q := range asked {
		if n := q.countElements(); !r.deciding && slices.Equal(x.results.Outputs[q.name].values, x.expected[q.name]) {
			a.Of, a.Equal = a.Of+n, a.Equal+n // no other rule gives more
			continue
		}
		for _, it := range x.listDecidingItems(r, q) {
			expected, found := x.expected[q.name][it.index], x.results.Outputs[q.name].values[it.index]
			a.Of++
			if found == expected {
				a.Equal++
			} else if a.LargestSteps = max(a.LargestSteps, countFP16Steps(found, expected)); a.First == nil {
				a.First = &Difference{q.name, unravelIndex(it.index, q.shape), formatHalf(expected), formatHalf(found)}
			}
			for i, v := range it.other {
				if v == found {
					equal[i]++
				}
			}
		}
	}
	best := slices.Index(equal, slices.Max(equal))
	fit := r.alternatives[best]
	// Functions of a processor differ from the exact ones in a few last bits, and a few results may
	// depend on a second deviation.
	const nearly = 0.9
	fits := equal[best] > a.Equal && float64(equal[best]) >= nearly*float64(a.Of)
	if fits || r.open && a.Equal < a.Of {
		a.Fit = &Fit{fit.name, equal[best], fit.constant}
	}
	x.compareErrors(r, &a)
	switch {
	case a.Of == 0 && a.Device != "": // of the outputs of the engine, no result decides the rule
		a.Verdict = Elsewhere
	case fits && fit.processor && x.results.Devices[asked[0].name] == "":
		a.Verdict = Elsewhere
	case r.open:
		a.Verdict = Open
	case a.Equal == a.Of:
		a.Verdict = Holds
	case r.deciding && !fits:
		a.Verdict = Unclear
	default:
		a.Verdict = Differs
	}
	return a
}

// ranOnProcessor reports whether Core ML gave the layer of an output to a processor or GPU.
func (x *comparison) ranOnProcessor(name string) bool {
	device := x.results.Devices[name]
	return device != "" && device != engineDevice
}

// listDecidingItems returns the results of a question that decide rule r, in order.
func (x *comparison) listDecidingItems(r *rule, q *question) (list []item) {
	whole := make([][]half, len(r.alternatives))
	for i, alternative := range r.alternatives {
		if alternative.dot == nil {
			whole[i] = alternative.all(q)
		}
	}
	for index := 0; index < q.countElements(); index += q.sampleStep(r) {
		// A result that differs between chips would be counted for or against a rule that all chips share.
		if r.deciding && !r.property && !x.isSettled(q, index) {
			continue
		}
		expected, decides := x.expected[q.name][index], !r.deciding
		it := item{q, index, make([]half, len(r.alternatives))}
		var bias float32
		var in, weights []half
		if q.operands != nil {
			bias, in, weights = q.operands(index)
		}
		for i, alternative := range r.alternatives {
			if alternative.dot == nil {
				it.other[i] = whole[i][index]
				continue
			}
			it.other[i] = q.applyReLU(alternative.dot(bias, in, weights))
			base := expected
			if alternative.deviates {
				base = x.computeBase(q, index)
			}
			// Only elements in which an alternative differs can decide against it, and only if the base is
			// what the device gave.
			decides = decides || it.other[i] != base && base == expected
		}
		if decides {
			list = append(list, it)
		}
	}
	return list
}

// sampleStep returns the distance of the results that are compared. Of the linear layer, a part is
// enough to decide a rule.
func (q *question) sampleStep(r *rule) int {
	if r.deciding && q.countElements() > 1<<13 {
		return 16
	}
	return 1
}

// isSettled reports whether a result is the same on all chips. Only such results decide the rules that
// all chips share.
func (x *comparison) isSettled(q *question, i int) bool {
	key := result{q.name, i}
	settled, known := x.settled[key]
	if !known {
		bias, in, weights := q.operands(i)
		y := mac.H13.DotBias(bias, in, weights)
		settled = true
		for _, a := range []mac.Arithmetic{{KeepsInfinity: true}, {CoarseSums: true}, mac.Later} {
			settled = settled && a.DotBias(bias, in, weights) == y
		}
		x.settled[key] = settled
	}
	return settled
}

// computeBase returns a result by the arithmetic from which alternatives deviate.
func (x *comparison) computeBase(q *question, i int) half {
	key := result{q.name, i}
	h, known := x.base[key]
	if !known {
		h = q.computeResult(i, x.plain.dot)
		x.base[key] = h
	}
	return h
}

// computeResult returns result i of a layer of sums by the given rule.
func (q *question) computeResult(i int, dot func(bias float32, x, w []half) half) half {
	return q.applyReLU(dot(q.operands(i)))
}

// applyReLU applies the layer's ReLU, if it has one.
func (q *question) applyReLU(h half) half {
	if q.relu && h&0x8000 != 0 {
		return 0
	}
	return h
}

// findExplanation returns the alternative that gives all results of sums on which chips agree, "" if there is
// none or the model gives them too.
func (x *comparison) findExplanation(rules []rule) string {
	for i := range rules {
		for _, alternative := range rules[i].alternatives {
			if alternative.dot != nil && !rules[i].open && x.explainsAll(alternative) {
				return alternative.name
			}
		}
	}
	return ""
}

func (x *comparison) explainsAll(a alternative) bool {
	differences := 0
	for _, name := range []string{"sums", "biased", "linear", "product"} {
		found, ok := x.results.Outputs[name]
		if !ok {
			return false
		}
		if x.ranOnProcessor(name) {
			continue // its results follow the rules of another device
		}
		q := x.questions[name]
		for i, v := range found.values {
			differs := v != x.expected[name][i]
			if !differs && i%16 != 0 || !x.isSettled(q, i) {
				continue // where the model agrees, some of the results are enough
			}
			if differs {
				differences++
			}
			if q.computeResult(i, a.dot) != v {
				return false
			}
		}
	}
	return differences > 0
}

// compareErrors fills in the relative error of a layer for which chips printed it.
func (x *comparison) compareErrors(r *rule, a *Answer) {
	if len(r.published) == 0 {
		return
	}
	found := x.results.Outputs[r.questions[0]].values
	exact := computeExactLinear
	if r.name == "convolution" {
		exact = computeExactConvolution
	}
	differences, sum := 0.0, 0.0
	for i, want := range exact() {
		differences += float64((toFloat64(found[i]) - want) * (toFloat64(found[i]) - want))
		sum += float64(want * want)
	}
	if e := math.Sqrt(differences) / math.Sqrt(sum); !math.IsNaN(e) && !math.IsInf(e, 0) {
		a.RelativeError = e
	}
	for _, p := range r.published {
		const order = 1e-12 // the last digits depend on the order in which the squares are added
		if math.Abs(a.RelativeError-p.relativeError) <= order*p.relativeError {
			a.PrintedBy = p.chips
		}
	}
}

// computeExactLinear returns the results of the linear layer for inputs and weights in float32.
func computeExactLinear() []float64 {
	x, w := newLinearData()
	y := make([]float64, 0, linearRows*linearColumns)
	for r := range linearRows {
		for o := range linearColumns {
			sum := 0.0
			for i, v := range x[r*linearColumns:][:linearColumns] {
				sum += float64(float64(v) * float64(w[o*linearColumns+i]))
			}
			y = append(y, sum)
		}
	}
	return y
}

// computeExactConvolution returns the results of the 3x3 convolution for an image in float32 and weights in
// float64.
func computeExactConvolution() []float64 {
	x, w := newImageData()
	y := make([]float64, imageOutputs*imageSize*imageSize)
	for i := range y {
		o, row, column := i/(imageSize*imageSize), i/imageSize%imageSize, i%imageSize
		sum := 0.0
		for c := range imageChannels {
			for dy := max(0, 1-row); dy < min(3, imageSize+1-row); dy++ {
				for dx := max(0, 1-column); dx < min(3, imageSize+1-column); dx++ {
					sum += float64(float64(x[(c*imageSize+row+dy-1)*imageSize+column+dx-1]) * w[((o*imageChannels+c)*3+dy)*3+dx])
				}
			}
		}
		y[i] = max(sum, 0)
	}
	return y
}

// countFP16Steps returns how many fp16 numbers lie between two, plus one. It is 0 for equal numbers, and 0
// and -0 are a step apart.
func countFP16Steps(a, b half) int {
	order := func(h half) int {
		if h&0x8000 != 0 {
			return -int(h&0x7fff) - 1
		}
		return int(h)
	}
	return max(order(a)-order(b), order(b)-order(a))
}

// unravelIndex returns the index of element i of a tensor with the given shape.
func unravelIndex(i int, shape []int) []int {
	index := make([]int, len(shape))
	for k := len(shape) - 1; k >= 0; k-- {
		index[k] = i % shape[k]
		i /= shape[k]
	}
	return index
}

func formatHalf(h half) string {
	v := toFloat64(h)
	switch {
	case math.IsNaN(v):
		return "nan"
	case math.IsInf(v, 0):
		return cmp.Or(map[bool]string{true: "-inf"}[v < 0], "inf")
	}
	return strconv.FormatFloat(v, 'g', -1, 32)
}
