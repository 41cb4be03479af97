package page

import (
	"bytes"
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"anesim"
	"anesim/hw/clock"
	"anesim/hw/host"
	"anesim/internal/check"
	"anesim/internal/explain"
	"anesim/internal/report"
	"anesim/tools/anesim/internal/view"
)

func runOf(t testing.TB, words ...string) *report.Run {
	t.Helper()
	m, err := anesim.Layer(words[0], words[1:]...)
	if err != nil {
		t.Fatal(err)
	}
	res, err := m.Run(context.Background(), anesim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return report.NewRun(res)
}

func pageOf(t testing.TB, r *view.Report, o Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, r, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// embedded decodes the JSON in the page's script element with the given id into v.
func embedded(t *testing.T, page, id string, v any) {
	t.Helper()
	_, rest, ok := strings.Cut(page, `<script type="application/json" id="`+id+`">`)
	if !ok {
		t.Fatalf("the page has no %s", id)
	}
	text, _, _ := strings.Cut(rest, "</script>")
	if err := json.Unmarshal([]byte(text), v); err != nil {
		t.Fatalf("%s: %v", id, err)
	}
}

// at returns the number at a path of a document, such as total.time_ns. The number for a list is
// its length.
func at(t *testing.T, document map[string]any, place string) float64 {
	t.Helper()
	var v any = document
	for name := range strings.SplitSeq(place, ".") {
		m, ok := v.(map[string]any)
		if !ok {
			t.Fatalf("the document has no %s", place)
		}
		v = m[name]
	}
	switch v := v.(type) {
	case float64:
		return v
	case []any:
		return float64(len(v))
	}
	t.Fatalf("%s of the document is %T", place, v)
	return 0
}

// Every number of the headline is the document's, and so are the table's cycles, times and
// energies.
func TestNumbersAreTheDocuments(t *testing.T) {
	doc := runOf(t, "conv", "cin=64", "h=28", "w=28", "cout=64", "k=3", "pad=1")
	page := pageOf(t, view.FromRun(doc), Options{})
	var document map[string]any
	embedded(t, page, "document", &document)
	facts := regexp.MustCompile(`<data class="value" data-name="([^"]+)" value="([^"]+)">`).FindAllStringSubmatch(page, -1)
	if len(facts) < 6 {
		t.Fatalf("%d numbers in the headline", len(facts))
	}
	for _, f := range facts {
		v, err := strconv.ParseFloat(strings.ReplaceAll(f[2], "&#43;", "+"), 64)
		if err != nil {
			t.Fatal(err)
		}
		if want := at(t, document, f[1]); v != want {
			t.Errorf("%s: the page has %v, the document %v", f[1], v, want)
		}
	}
	var data struct {
		Columns []struct{ Title string }
		Rows    [][]any
	}
	embedded(t, page, "data", &data)
	list := document["descriptors"].([]any)
	if len(data.Rows) != len(list) || len(list) == 0 {
		t.Fatalf("%d rows of %d descriptors", len(data.Rows), len(list))
	}
	places := map[string]string{"cycles": "cycles.total", "time": "time_ns", "low": "time_ns_low", "high": "time_ns_high", "energy": "energy_nj", "moved": "dma_bytes.total", "engines": "engines"}
	for i, c := range data.Columns {
		place, ok := places[c.Title]
		if !ok {
			continue
		}
		delete(places, c.Title)
		for k := range list {
			if got, want := data.Rows[k][i].([]any)[1], at(t, list[k].(map[string]any), place); got != want {
				t.Errorf("%s of td %d: the page has %v, the document %v", c.Title, k, got, want)
			}
		}
	}
	if len(places) > 0 {
		t.Errorf("the table has no columns %v", places)
	}
}

// The page loads nothing, and the same report is the same page.
func TestSelfContained(t *testing.T) {
	r := view.FromRun(runOf(t, "matmul", "m=64", "k=256", "n=256"))
	page := pageOf(t, r, Options{})
	if m := regexp.MustCompile(`(?i)(https?:)?//[a-z0-9.-]+\.[a-z]{2,}/|@import|\burl\(|<link [^>]*href="[^d]`).FindString(page); m != "" {
		t.Errorf("the page refers to %q", m)
	}
	if pageOf(t, r, Options{}) != page {
		t.Error("a report is two pages")
	}
	for _, id := range []string{"causes", "roofline", "timeline", "energy", "bottlenecks", "table-section"} {
		if !strings.Contains(page, `<section id="`+id+`">`) {
			t.Errorf("the page has no picture %s", id)
		}
	}
}

// Text from a file cannot end the script or start an element.
func TestTextIsEscaped(t *testing.T) {
	doc := runOf(t, "add", "c=4")
	const name = `</script><img src=x onerror=alert(1)>`
	doc.Program, doc.Descriptors[0].Op = name, name
	page := pageOf(t, view.FromRun(doc), Options{Details: []string{name}, Baseline: &Baseline{File: name, Cause: name, Rows: []Difference{{Where: name, Alike: []string{name}, Why: []string{name}}}}})
	if strings.Contains(page, "<img") {
		t.Error("text of the program is an element of the page")
	}
	if n := strings.Count(page, "</script>"); n != 4 {
		t.Errorf("%d scripts end, not 4", n)
	}
	var document report.Run
	embedded(t, page, "document", &document)
	if document.Program != name {
		t.Errorf("the name comes back as %q", document.Program)
	}
}

// A chain of 10,000 descriptors has pictures of bounded size.
func TestLongChain(t *testing.T) {
	doc := runOf(t, "add", "c=4")
	one := doc.Descriptors[0]
	doc.Descriptors, doc.Power = nil, nil
	const n = 10_000
	at := clock.Nanoseconds(0)
	for i := range n {
		one.Index = i
		doc.Descriptors = append(doc.Descriptors, one)
		s := report.Span{AtNs: at, ForNs: clock.Nanoseconds(50 + i%7), Watts: float64(1 + i%3), What: "descriptor"}
		s.EnergyNJ = clock.Nanojoules(s.Watts * float64(s.ForNs))
		at += s.ForNs
		doc.Power = append(doc.Power, s)
	}
	page := pageOf(t, view.FromRun(doc), Options{})
	if n := strings.Count(page, "<rect"); n == 0 || n > 4000 {
		t.Errorf("%d rectangles", n)
	}
}

// A load and a sweep have pages too, with what they know.
func TestOtherReports(t *testing.T) {
	load := &report.Load{Header: report.NewHeader(), TimeNs: 2e6, Utilisation: 0.5, Clients: []report.LoadClient{{Name: "camera"}}, Timeline: []report.LoadBin{{ForNs: 2e6, Watts: 3}}}
	if page := pageOf(t, view.FromLoad(load), Options{}); !strings.Contains(page, `id="timeline"`) || strings.Contains(page, `id="causes"`) {
		t.Error("a load's page has no power, or causes that a load does not have")
	}
	sweep := &view.Sweep{Name: "conv", Columns: []string{"point", "cycles", "time_ns", "macs", "dma_bytes", "error"}, Rows: [][]string{{"0", "100", "70", "4096", "128", ""}, {"1", "", "", "", "", "refused"}}}
	page := pageOf(t, view.FromSweep(sweep, report.Rates{TFLOPS: 11, GBPerS: 68}), Options{})
	if !strings.Contains(page, `id="roofline"`) || !strings.Contains(page, "1 refused") {
		t.Error("a sweep's page has no roofline, or does not count what was refused")
	}
}

// A network's timeline has L2 and what bounds each descriptor, and its steps are the
// document's spans.
func TestTimelineTracks(t *testing.T) {
	const net = "inputs: {x: {c: 16, h: 8, w: 8}}\nlayers:\n- {op: conv, cout: 32, k: 3, pad: 1}\n- {op: softmax, axis: c}\n"
	m, err := anesim.Read("net.yaml", strings.NewReader(net), int64(len(net)))
	if err != nil {
		t.Fatal(err)
	}
	res, err := m.Run(context.Background(), anesim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	doc := report.NewNetwork(res)
	page := pageOf(t, view.FromNetwork(doc), Options{})
	for _, want := range []string{"bound by</text>", "power, W</text>", "L2, MB</text>", `data-list="power"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the timeline has no %s", want)
		}
	}
	var full uint64
	for _, s := range doc.Power {
		full = max(full, uint64(s.L2Bytes))
		if (s.Bound == "") != (s.L2Bytes == 0) {
			t.Errorf("%s: bound by %q with %d bytes in the L2", s.What, s.Bound, s.L2Bytes)
		}
	}
	if full == 0 || full > 2<<20 {
		t.Errorf("the L2 holds %d bytes", full)
	}
}

// Changes that were tried stand beside what they are to, and differences from a baseline are
// listed up to a bound.
func TestExplainedAndBaseline(t *testing.T) {
	m, err := anesim.Layer("conv", "cin=64", "h=56", "w=56", "cout=64", "k=1")
	if err != nil {
		t.Fatal(err)
	}
	linux, err := host.ByName("linux") // where a user can gate tiles
	if err != nil {
		t.Fatal(err)
	}
	x, err := explain.Explain(context.Background(), m, anesim.Options{Host: linux}, explain.Options{})
	if err != nil {
		t.Fatal(err)
	}
	worse := &check.Verdict{Input: "net", ProgramChanged: true, Differences: []check.Difference{{Where: "total", What: "cycles", Want: 1, Got: 2}}}
	for i := range maxDifferences + 7 {
		worse.Differences = append(worse.Differences, check.Difference{Where: "layer " + strconv.Itoa(i), What: check.MeasuredTime, Unit: "ns", Want: 1, Got: float64(2 + i), Why: []string{"why"}})
	}
	o := Options{Explained: x, Baseline: Compare("perf.json", worse)}
	page := pageOf(t, view.FromRun(runOf(t, "conv", "cin=64", "h=56", "w=56", "cout=64", "k=1")), o)
	if n := strings.Count(page, "<summary"); n != maxDifferences {
		t.Errorf("%d rows of a comparison, want %d", n, maxDifferences)
	}
	for _, want := range []string{x.Trials[0].Change, "anesim layer conv", "gate tiles", "memory bandwidth x1.5", "<p>The program changed; anesim&#39;s constants did not change.</p>", " 8 more parts differ"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
}

// Parts that only one side has are new or gone, and the energy of the total is that of the headline.
func TestCompareTotalsAndParts(t *testing.T) {
	v := &check.Verdict{Input: "net", Differences: []check.Difference{
		{Where: "total", What: check.MeasuredEnergy, Unit: "nJ", Want: 1000, Got: 2000},
		{Where: "layer a", What: "gone", Appeared: true}, {Where: "layer b", What: "new", Appeared: true},
		{Where: "layer c", What: check.MeasuredTime, Unit: "ns", Want: 10, Got: 658},
	}}
	v.Want.EnergyNJ, v.Want.DispatchNJ, v.Got.EnergyNJ, v.Got.DispatchNJ = 1000, 9000, 2000, 9000
	b := Compare("perf.json", v)
	if x := b.Rows[0].Energy; x.Want != "10.000 uJ" || x.Got != "11.000 uJ" || x.Change != "+10.00%" {
		t.Errorf("energy of the total %+v", x)
	}
	if b.Rows[1].Only != "gone" || b.Rows[2].Only != "new" || b.Rows[3].Only != "" || b.Rows[3].Time.Change != "65.8x" {
		t.Errorf("rows %+v", b.Rows[1:])
	}
	page := pageOf(t, view.FromRun(runOf(t, "relu", "c=4")), Options{Baseline: b})
	if !strings.Contains(page, `<td colspan="9">gone</td>`) || !strings.Contains(page, `<td colspan="9">new</td>`) || strings.Contains(page, "6480") {
		t.Error("the page does not say which parts are new and gone")
	}
}

// A comparison has the total first and then the layer that lost the most time, one row for
// layers with the same values, readable units, and each reason once.
func TestCompare(t *testing.T) {
	layer := func(name string, ns float64) []check.Difference {
		why := []string{"kernel stall +9 cycles"}
		return []check.Difference{
			{Where: "layer " + name, What: "cycles", Want: 1000, Got: 2000, Why: why},
			{Where: "layer " + name, What: check.MeasuredTime, Unit: "ns", Want: 2000, Got: ns, Why: why},
			{Where: "layer " + name, What: check.MeasuredBytes, Unit: "B", Want: 1_840_000, Got: 2_000_000, Why: why},
		}
	}
	v := &check.Verdict{Input: "net", ProgramChanged: true, Differences: slices.Concat(
		layer("a", 2100), layer("q", 3100), layer("b", 1000), layer("k", 3100),
		[]check.Difference{{Where: "descriptor 0 (conv)", What: "cycles", Want: 1, Got: 2}, {Where: "output y", What: "gone", Appeared: true}, {Where: "total", What: "cycles", Want: 1, Got: 2}})}
	b := Compare("perf.json", v)
	var order []string
	for _, r := range b.Rows {
		order = append(order, r.Where)
	}
	if want := []string{"total", "output y", "layer q", "layer a", "layer b"}; !slices.Equal(order, want) {
		t.Fatalf("rows %q, want %q", order, want)
	}
	q := b.Rows[2]
	if !slices.Equal(q.Alike, []string{"layer k"}) || q.Time != (Values{"2.000 us", "3.100 us", "+55.00%", true}) || q.Sent.Want != "1.84 MB" {
		t.Errorf("row %+v", q)
	}
	if want := []string{"cycles 1,000 -> 2,000 (+100.00%)", "kernel stall +9 cycles"}; !slices.Equal(q.Why, want) {
		t.Errorf("reasons %q, want %q", q.Why, want)
	}
}
