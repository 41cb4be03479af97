package probe

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"anesim"
	"anesim/hw"
	"anesim/internal/datapath/mac"
	"anesim/internal/vectors"
)

// laterChip is an M1 with the two properties of M4 and M6.
func laterChip() hw.Chip {
	c := hw.M1()
	c.Name = "later"
	c.CoarseSums.Value, c.OperandInfinity.Value = 0, 0
	return c
}

// modelResults are the results that the model of each chip computes, by the chip's name.
var modelResults = sync.OnceValues(func() (map[string]*Results, error) {
	list := map[string]*Results{}
	for _, c := range []hw.Chip{hw.M1(), laterChip()} {
		r, err := Expected(context.Background(), c)
		if err != nil {
			return nil, err
		}
		list[c.Name] = r
	}
	return list, nil
})

// copyResults returns a copy of the model's results for a chip.
func copyResults(t *testing.T, c hw.Chip) *Results {
	t.Helper()
	list, err := modelResults()
	if err != nil {
		t.Fatal(err)
	}
	r := *list[c.Name]
	r.Devices = map[string]string{}
	r.Outputs = maps.Clone(r.Outputs)
	return &r
}

// replace replaces the values of an output.
func (r *Results) replace(name string, values []half) {
	x := r.Outputs[name]
	var bits strings.Builder
	for _, v := range values {
		fmt.Fprintf(&bits, "%04x", uint16(v))
	}
	r.Outputs[name] = Tensor{Shape: x.Shape, Bits: bits.String()}
}

// compare writes results as a file, reads it, and compares it with the rules of a chip.
func compare(t *testing.T, r *Results, c hw.Chip) *Document {
	t.Helper()
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	read, err := ReadResults(data)
	if err != nil {
		t.Fatal(err)
	}
	d, err := Compare(context.Background(), read, c)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *Document) answer(t *testing.T, rule string) Answer {
	t.Helper()
	i := slices.IndexFunc(d.Answers, func(a Answer) bool { return a.Rule == rule })
	if i < 0 {
		t.Fatalf("no answer to rule %q", rule)
	}
	return d.Answers[i]
}

// The results that the model computes follow all rules of the same chip. The relative errors of two
// layers are those that chips printed.
func TestModelFollowsItsRules(t *testing.T) {
	for _, c := range []hw.Chip{hw.M1(), laterChip()} {
		d := compare(t, copyResults(t, c), c)
		if d.Holds != d.Rules || d.Rules != 25 || d.Explanation != "" {
			t.Errorf("%s: %d of %d rules hold, explanation %q; want 25 of 25 and none", c.Name, d.Holds, d.Rules, d.Explanation)
		}
		for _, a := range d.Answers {
			if a.Of < 30 || a.Equal != a.Of {
				t.Errorf("%s: %s: %d of %d results are equal; want all of at least 30", c.Name, a.Rule, a.Equal, a.Of)
			}
		}
		for rule, chips := range map[string]string{"linear": "M1, M2 and M5", "convolution": "M1"} {
			if a := d.answer(t, rule); a.PrintedBy != chips {
				t.Errorf("%s: the error of %s, %.16g, is that of %q; want %q", c.Name, rule, a.RelativeError, a.PrintedBy, chips)
			}
		}
	}
}

// The probe asks for all single sums that were published for M4 and M6, and the published results
// follow the rules of a chip with their two properties, but not those of an M1.
func TestPublishedSums(t *testing.T) {
	cases, err := vectors.Accumulations()
	if err != nil {
		t.Fatal(err)
	}
	r := copyResults(t, laterChip())
	m := theModel()
	n := 0
	for _, c := range cases {
		for _, sum := range c.Data.Sums {
			x, w := sum.Operands()
			name, i := findSum(m, sum.Bias, x, w)
			if name == "" {
				t.Errorf("%s: the probe does not ask for bias %g, inputs %v, weights %v", c.Name, sum.Bias, x, w)
				continue
			}
			n++
			values := slices.Clone(mustValues(t, r, name))
			values[i] = half(sum.Want)
			r.replace(name, values)
		}
	}
	if n != 141 {
		t.Errorf("%d sums were published; want 141", n)
	}
	if d := compare(t, r, laterChip()); d.Holds != d.Rules {
		t.Errorf("%d of %d rules of the later chips hold; want all", d.Holds, d.Rules)
	}
	d := compare(t, r, hw.M1())
	if d.Holds != d.Rules-2 {
		t.Errorf("%d of %d rules of the M1 hold; want all but 2", d.Holds, d.Rules)
	}
	for rule, constant := range map[string]string{"infinite-operands": "OperandInfinity=0", "large-terms": "CoarseSums=0"} {
		if a := d.answer(t, rule); a.Verdict != Differs || a.Equal != 0 || a.Fit == nil || a.Fit.Constant != constant || a.Fit.Equal != a.Of {
			t.Errorf("%s: %+v; want no equal result, and all with %s", rule, a, constant)
		}
	}
}

// The sums in which an M1 loses small terms next to large ones are asked for, and the model of the M1
// gives the published results.
func TestPublishedSumsOfM1(t *testing.T) {
	cases, err := vectors.Reductions()
	if err != nil {
		t.Fatal(err)
	}
	r, m, n := copyResults(t, hw.M1()), theModel(), 0
	for _, c := range cases {
		if !strings.HasSuffix(c.Name, "x 16") {
			continue // other sums are too long for the probe
		}
		x, w := c.Data.Operands()
		name, i := findSum(m, 0, x, w)
		if name == "" {
			t.Errorf("%s: the probe does not ask for it", c.Name)
			continue
		}
		n++
		if got := mustValues(t, r, name)[i]; got != half(c.Data.Want) {
			t.Errorf("%s: the model computes %v; want %v", c.Name, got, c.Data.Want)
		}
	}
	if n != 14 {
		t.Errorf("%d sums were published; want 14", n)
	}
}

func mustValues(t *testing.T, r *Results, name string) []half {
	t.Helper()
	var list []half
	for bits := r.Outputs[name].Bits; bits != ""; bits = bits[4:] {
		var v uint16
		if _, err := fmt.Sscanf(bits[:4], "%04x", &v); err != nil {
			t.Fatal(err)
		}
		list = append(list, half(v))
	}
	return list
}

// findSum returns the output and the index of the sum with the given operands, or "". Zeros may follow
// the operands.
func findSum(m *builder, bias float32, x, w []half) (string, int) {
	for _, q := range m.questions {
		if q.name != "sums" && q.name != "biased" {
			continue
		}
		for i := range q.countElements() {
			b, xs, ws := q.operands(i)
			rest := func(h half) bool { return h != 0 }
			if b == bias && slices.Equal(xs[:len(x)], x) && slices.Equal(ws[:len(w)], w) && !slices.ContainsFunc(xs[len(x):], rest) {
				return q.name, i
			}
		}
	}
	return "", 0
}

// The arithmetic that alternatives deviate from is that of package mac, for every sum of the probe.
func TestArithmeticIsThatOfTheModel(t *testing.T) {
	for _, chip := range []mac.Arithmetic{{KeepsInfinity: true}, {}} {
		a := arithmetic{numbers: !chip.KeepsInfinity}
		for _, q := range theModel().questions {
			if q.operands == nil {
				continue
			}
			for i := 0; i < q.countElements(); i += 1 + q.countElements()/4096 {
				bias, x, w := q.operands(i)
				if got, want := a.dot(bias, x, w), chip.DotBias(bias, x, w); got != want {
					t.Fatalf("%s[%d] with %+v: %v; want %v", q.name, i, chip, got, want)
				}
			}
		}
	}
}

// Results that were computed by one of the other rules are reported as such.
func TestDeviationsAreFound(t *testing.T) {
	for _, c := range []hw.Chip{hw.M1(), laterChip()} {
		// The long job has both chips: most of the rules are the same on both.
		if os.Getenv("LONG") == "" && c.Name != hw.M1().Name {
			continue
		}
		m, expected := theModel(), map[string][]half{}
		for name, x := range copyResults(t, c).Outputs {
			expected[name] = x.values
		}
		rules, x := listRules(&c), newComparison(nil, m, expected, &c)
		for k := range rules {
			r := &rules[k]
			for _, a := range r.alternatives {
				results := copyResults(t, c)
				for _, q := range m.questions {
					if values := deviate(q, r, a, expected[q.name]); values != nil {
						results.Outputs[q.name] = Tensor{Shape: q.shape, values: values}
					}
				}
				x.results = results
				got := x.answerRule(r)
				want := Differs
				switch {
				case a.processor:
					want = Elsewhere
				case r.open:
					want = Open
				}
				if r.open && got.Equal == got.Of {
					continue // the alternative is what the model has
				}
				if got.Verdict != want || got.Fit == nil || got.Fit.Rule != a.name || got.Fit.Equal != got.Of || got.Equal >= got.Of {
					t.Errorf("%s: %s: %+v, fit %+v; want %s, and all results by %q", c.Name, r.name, got, got.Fit, want, a.name)
				}
				if a.dot != nil && !r.open && !r.property && r.name != "convolution" && r.name != "one-channel" && !x.explainsAll(a) {
					t.Errorf("%s: %q does not explain the sums that were computed by it", c.Name, a.name)
				}
			}
		}
	}
}

// If one rule is wrong, the answer names it and the change that explains all results. The other rules
// that its results decide are unclear: none of them differs.
func TestOneWrongRule(t *testing.T) {
	c := hw.M1()
	for _, name := range []string{"sums round half to even", "no product is dropped", "products round half to even", "exact products in tiles of four with 12 bits, as this model once had"} {
		for _, r := range listRules(&c) {
			k := slices.IndexFunc(r.alternatives, func(a alternative) bool { return a.name == name })
			if !r.deciding || k < 0 {
				continue
			}
			results := copyResults(t, c)
			for _, q := range theModel().questions {
				if values := deviate(q, &r, r.alternatives[k], results.Outputs[q.name].values); values != nil {
					results.replace(q.name, values)
				}
			}
			d := compare(t, results, c)
			if d.Explanation != name {
				t.Errorf("%q is explained by %q", name, d.Explanation)
			}
			for _, a := range d.Answers {
				shared := slices.Contains([]string{"linear", "product", "large-terms"}, a.Rule)
				if a.Verdict == Differs != (a.Rule == r.name) && !shared {
					t.Errorf("%q: %s %s: %d of %d equal; want %s alone to differ", name, a.Rule, a.Verdict, a.Equal, a.Of, r.name)
				}
			}
		}
	}
}

// deviate returns the results of question q if alternative a of rule r is true, nil if they do not
// depend on it. Results that are not compared stay those of the model.
func deviate(q *question, r *rule, a alternative, expected []half) []half {
	if a.dot == nil {
		if slices.Contains(r.questions, q.name) {
			return a.all(q)
		}
		return nil
	}
	if !slices.Contains([]string{"sums", "biased", "linear", "product"}, q.name) && !slices.Contains(r.questions, q.name) {
		return nil
	}
	values := slices.Clone(expected)
	for i := 0; i < len(values); i += q.sampleStep(r) {
		values[i] = q.computeResult(i, a.dot)
	}
	return values
}

// A 3x3 convolution by the Winograd transform has the relative error that an M5 printed.
func TestTransformIsThatOfM5(t *testing.T) {
	r := copyResults(t, laterChip())
	r.replace("convolution", convolveByWinograd(&arithmetic{numbers: true}))
	a := compare(t, r, laterChip()).answer(t, "convolution")
	if a.Verdict != Differs || a.PrintedBy != "M5" || a.Fit == nil || !strings.Contains(a.Fit.Rule, "F(2,3)") {
		t.Errorf("%+v; want another rule, F(2,3), and the error of an M5", a)
	}
}

// A layer that Core ML gave to another device, or that the file lacks, does not decide a rule. The
// others are compared as ever.
func TestLayersThatDidNotRunOnTheEngine(t *testing.T) {
	r := copyResults(t, hw.M1())
	r.Devices = map[string]string{"log": "cpu", "linear": "neuralEngine", "exp": "gpu"}
	delete(r.Outputs, "gelu")
	d := compare(t, r, hw.M1())
	for rule, want := range map[string]Verdict{"log": Elsewhere, "exp": Elsewhere, "gelu": Missing, "linear": Holds, "tanh": Holds} {
		if a := d.answer(t, rule); a.Verdict != want {
			t.Errorf("%s: %s; want %s", rule, a.Verdict, want)
		}
	}
	if d.Holds != d.Rules-3 {
		t.Errorf("%d of %d rules hold; want all but 3", d.Holds, d.Rules)
	}
}

// A rule whose deciding results all come from outputs that Core ML ran elsewhere is not decided, even if
// it asks other outputs too. The first of these devices is named.
func TestRulesWithoutResultsOfTheEngine(t *testing.T) {
	for _, c := range []hw.Chip{hw.M1(), laterChip()} {
		r := copyResults(t, c)
		r.Devices = map[string]string{"sums": "gpu", "biased": "cpu"}
		n := 0
		for _, a := range compare(t, r, c).Answers {
			if a.Of > 0 {
				continue
			}
			n++
			device := "gpu"
			if a.Rule == "bias" { // asks biased alone
				device = "cpu"
			}
			if a.Verdict != Elsewhere || a.Device != device {
				t.Errorf("%s: %s: %s on %q; want elsewhere on the %s, because no result decides it", c.Name, a.Rule, a.Verdict, a.Device, device)
			}
		}
		if n < 2 {
			t.Errorf("%s: %d rules without results; want bias, and some that only sums and biased decide", c.Name, n)
		}
		for _, a := range compare(t, copyResults(t, c), c).Answers {
			if a.Of == 0 {
				t.Errorf("%s: %s: no result decides it, although all layers ran on the engine", c.Name, a.Rule)
			}
		}
	}
}

// The change that explains all sums is found from those of the engine.
func TestSumsOfAProcessorAreNotExplained(t *testing.T) {
	c := hw.M1()
	const name = "sums round half to even"
	results := copyResults(t, c)
	for _, r := range listRules(&c) {
		for _, a := range r.alternatives {
			for _, q := range theModel().questions {
				if a.name != name {
					continue
				}
				if values := deviate(q, &r, a, results.Outputs[q.name].values); values != nil {
					results.replace(q.name, values)
				}
			}
		}
	}
	q := findQuestion("linear")
	values := make([]half, q.countElements())
	for i := range values {
		values[i] = q.computeResult(i, sumExactly)
	}
	results.replace(q.name, values)
	results.Devices["linear"] = "gpu"
	if d := compare(t, results, c); d.Explanation != name {
		t.Errorf("explained by %q; want %q, because the linear layer ran on the gpu", d.Explanation, name)
	}
}

// For an open rule, the answer is what the machine says.
func TestOpenRules(t *testing.T) {
	r := copyResults(t, hw.M1())
	q := findQuestion("reduce_sum")
	r.replace(q.name, sumRows(q, sumPairs))
	long := findQuestion("reduce_sum_4096")
	r.replace(long.name, sumRows(long, sumPairs))
	d := compare(t, r, hw.M1())
	a := d.answer(t, "reduce-sum")
	if a.Verdict != Open || a.Equal == a.Of || a.Fit == nil || !strings.HasPrefix(a.Fit.Rule, "neighbors") || a.Fit.Equal != a.Of {
		t.Errorf("%+v, fit %+v; want an open rule whose results are sums of neighbors", a, a.Fit)
	}
	if d.Holds != d.Rules {
		t.Errorf("%d of %d rules hold; want all, because an open rule does not count", d.Holds, d.Rules)
	}
}

func findQuestion(name string) *question {
	for _, q := range theModel().questions {
		if q.name == name {
			return q
		}
	}
	return nil
}

// Malformed results give an error with the place.
func TestMalformedResults(t *testing.T) {
	good, err := json.Marshal(copyResults(t, hw.M1()))
	if err != nil {
		t.Fatal(err)
	}
	change := func(f func(r *Results)) []byte {
		r := copyResults(t, hw.M1())
		f(r)
		data, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	swap := func(name string, f func(*Tensor)) func(*Results) {
		return func(r *Results) { x := r.Outputs[name]; f(&x); r.Outputs[name] = x }
	}
	for _, c := range []struct {
		data        []byte
		place, what string
	}{
		{nil, "byte 0", "EOF"},
		{[]byte("# no JSON"), "byte 1", "invalid character"},
		{[]byte(`[1]`), "byte 1", "found"},
		{good[:len(good)/2], fmt.Sprintf("byte %d", len(good)/2), "unexpected EOF"},
		{append(slices.Clone(good), good...), fmt.Sprintf("byte %d", len(good)), "data after the results"},
		{[]byte(`{"outputs": {"log": 3}}`), "byte 21", "found"},
		{[]byte(`{"outputs": {"log": {"shape": [1e30]}}}`), "byte", "found"},
		{[]byte(strings.Repeat(`{"outputs":`, 1<<17)), "byte", "exceeded max depth"},
		{change(func(r *Results) { r.Probe = "old" }), "probe", `"old"; want "`},
		{change(func(r *Results) { r.Probe = strings.Repeat("x", 1<<20) }), "probe", "xxx"},
		{change(func(r *Results) { r.Outputs["lag"] = r.Outputs["log"] }), "outputs", `unknown output "lag"; did you mean log?`},
		{change(func(r *Results) { r.Devices = map[string]string{"log": "npu"} }), "devices", `"npu" of "log"; want cpu, gpu or neuralEngine`},
		{change(swap("log", func(x *Tensor) { x.Shape = []int{1, 32, 64} })), "outputs.log.shape", "want [1 32 1 64]"},
		{change(swap("log", func(x *Tensor) { x.Shape = []int{1 << 62, 1 << 62} })), "outputs.log.shape", "want [1 32 1 64]"},
		{change(swap("log", func(x *Tensor) { x.Bits = x.Bits[1:] })), "outputs.log.bits", "8191 digits; want 8192"},
		{change(swap("log", func(x *Tensor) { x.Bits = x.Bits[:100] + "g" + x.Bits[101:] })), "outputs.log.bits at digit 100", "want hexadecimal digits"},
		{make([]byte, MaxBytes+1), "file", "want at most"},
	} {
		_, err := ReadResults(c.data)
		var e *ResultsError
		if !errors.As(err, &e) || !strings.HasPrefix(e.Place, c.place) || !strings.Contains(e.What, c.what) || len(err.Error()) > 200 {
			t.Errorf("%.60q: %.300v; want an error at %s: %s", c.data, err, c.place, c.what)
		}
	}
}

func FuzzReadResults(f *testing.F) {
	f.Add([]byte(`{"probe": "` + identity() + `", "devices": {"log": "cpu"}, "outputs": {"one_channel": {"shape": [1, 1, 1, 32], "bits": "` + strings.Repeat("3c00", 32) + `"}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := ReadResults(data)
		var e *ResultsError
		if err != nil && !errors.As(err, &e) {
			t.Fatalf("%v is no *ResultsError", err)
		}
		if err == nil && len(r.Outputs) > 64 {
			t.Fatal("more outputs than the probe has")
		}
	})
}

// The package, read from its files and run with the inputs beside it, gives what the model computes.
func TestPackage(t *testing.T) {
	dir := t.TempDir()
	files := fstest.MapFS{}
	for name, data := range Files() {
		files[name] = &fstest.MapFile{Data: data, Mode: 0o666}
	}
	if err := os.CopyFS(dir, files); err != nil {
		t.Fatal(err)
	}
	var d description
	if err := json.Unmarshal(files["probe.json"].Data, &d); err != nil {
		t.Fatal(err)
	}
	m, err := anesim.Open(filepath.Join(dir, PackageName))
	if err != nil {
		t.Fatal(err)
	}
	o := anesim.Options{Values: true, Inputs: map[string][]half{}, Shapes: map[string][]int{}}
	for _, in := range d.Inputs {
		data, err := os.ReadFile(filepath.Join(dir, in.File))
		if err != nil {
			t.Fatal(err)
		}
		for ; len(data) > 0; data = data[2:] {
			o.Inputs[in.Name] = append(o.Inputs[in.Name], half(binary.LittleEndian.Uint16(data)))
		}
		o.Shapes[in.Name] = in.Shape
	}
	r, err := m.Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	want := copyResults(t, hw.M1())
	if len(r.Synthetic) > 0 || len(r.Outputs) != len(d.Outputs) || d.Probe != want.Probe {
		t.Errorf("inputs %v have no file, or %d outputs are not those of the probe, or %q is not %q", r.Synthetic, len(r.Outputs), d.Probe, want.Probe)
	}
	for i := range r.Outputs {
		x := &r.Outputs[i]
		if name := x.Port.Name; !slices.Equal(x.Data, mustValues(t, want, name)) || !slices.Equal(x.Shape(), want.Outputs[name].Shape) {
			t.Errorf("%s: the package gives other results", name)
		}
	}
	for name, data := range Files() {
		if !bytes.Equal(data, files[name].Data) {
			t.Errorf("%s differs at the second call", name)
		}
	}
}

// The script uses the names of the files and of what they hold.
func TestScriptKnowsTheNames(t *testing.T) {
	text := string(script)
	for _, name := range []string{PackageName, ResultsName, "probe.json", `"probe":`, `"machine":`, `"system":`, `"devices":`, `"outputs":`, `"shape":`, `"bits":`, `"cpu"`, `"gpu"`, `"` + engineDevice + `"`} {
		if !strings.Contains(text, name) {
			t.Errorf("%s does not have %s", ScriptName, name)
		}
	}
}
