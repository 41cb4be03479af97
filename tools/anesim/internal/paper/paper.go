package paper

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/x448/float16"

	"anesim"
	"anesim/firmware/engine"
	"anesim/internal/firmware/driver"
	"anesim/internal/firmware/traffic"
	"anesim/internal/report"
	"anesim/internal/scripts"
)

// A Row compares a figure in the reference documents, such as the size of a queue, with the figure
// that the model computes.
type Row struct {
	Area     string  `json:"area"`     // part of the device that the claim is about
	Claim    string  `json:"claim"`    // the claim in words
	Unit     string  `json:"unit"`     // unit of both figures
	Document float64 `json:"document"` // the figure that the documents claim
	Model    float64 `json:"model"`    // the figure that the model computes
	// Tolerance is the largest difference of the figures that agree, as a fraction of Document.
	Tolerance float64 `json:"tolerance"`
	Verdict   string  `json:"verdict"`            // "agrees" or "differs"
	Basis     string  `json:"basis"`              // "computed", or the other document from which the model has its figure
	Against   string  `json:"against,omitempty"`  // statement of another document that contradicts the claim, or ""
	ShownBy   string  `json:"shown_by,omitempty"` // command that prints the figure of the model, or ""
}

// A Document is the JSON report of a comparison of the model with the reference documents.
// Conflicts lists contradictions between the documents that cannot be resolved by running the
// model.
type Document struct {
	report.Header
	Rows      []Row      `json:"rows"`
	Conflicts []Conflict `json:"conflicts"`
}

// A Conflict describes two statements of the reference documents that contradict each other.
type Conflict struct {
	What  string `json:"what"`  // subject of the statements
	One   string `json:"one"`   // first statement
	Other string `json:"other"` // second statement
	Taken string `json:"taken"` // statement that the model follows
}

// A paper collects rows.
type paper struct {
	ctx  context.Context
	rows []Row
}

// Compare runs the model for each claim of the reference documents and compares the figures.
// Differing figures are not errors, but part of the result. Compare returns an error if a run fails
// or ctx is done.
func Compare(ctx context.Context) (*Document, error) {
	p := &paper{ctx: ctx}
	for _, part := range [...]func() error{
		p.compareLatency, p.compareSharedEngine, p.compareStatefulRun, p.compareTileGating, p.compareLimits, p.compareCommandPriorities, p.compareDriverLayouts,
		p.compareRegisters, p.comparePrograms, p.compareDescriptors, p.compareEnumerations,
	} {
		if err := part(); err != nil {
			return nil, err
		}
	}
	d := &Document{Header: report.NewHeader(), Rows: p.rows, Conflicts: []Conflict{}}
	for _, c := range driver.Conflicts() {
		d.Conflicts = append(d.Conflicts, Conflict{c.What, c.One, c.Other, c.Taken})
	}
	return d, nil
}

// addClaim adds a row that compares the figure of the documents (document) with the figure of the
// model (model). The two agree if they differ by at most the fraction tolerance of document.
func (p *paper) addClaim(area, claim, unit string, document, model, tolerance float64, shownBy, against string) {
	verdict := "differs"
	if math.Abs(model-document) <= tolerance*math.Abs(document) {
		verdict = "agrees"
	}
	p.rows = append(p.rows, Row{area, claim, unit, document, model, tolerance, verdict, "computed", against, shownBy})
}

// addClaimAtMost adds a row for a claim of the documents that a figure is at most document.
func (p *paper) addClaimAtMost(area, claim, unit string, document, model float64, shownBy, against string) {
	p.addClaim(area, claim+", at most", unit, document, model, 0, shownBy, against)
	if r := &p.rows[len(p.rows)-1]; model <= document {
		r.Verdict = "agrees"
	}
}

// smallGraph is the graph whose calls the documents time.
const smallGraph = `
inputs: {x: {c: 8, h: 16, w: 16}}
layers:
  - {name: conv, op: conv, cout: 8, k: 3, pad: 1, act: relu, from: x}
  - {name: mean, op: reduce, kind: mean, axis: hw}
`

// callTolerance is the tolerance for the times of calls.
const callTolerance = 0.05

// compareLatency compares the time of a call and of its stages with the documents.
func (p *paper) compareLatency() error {
	const area, graph = "latency", "conv 3x3 8->8, relu, mean of 16x16"
	m, err := anesim.Read("small.yaml", strings.NewReader(smallGraph), int64(len(smallGraph)))
	if err != nil {
		return err
	}
	// Two hosts are candidates for the machine of the documents.
	for _, name := range []string{"macos-guide", "macos-air"} {
		h, err := engine.HostByName(name)
		if err != nil {
			return err
		}
		res, err := m.Run(p.ctx, anesim.Options{Host: h})
		if err != nil {
			return err
		}
		wall := float64(res.Wall())
		p.addClaim(area, "a call of a small graph, 2000 calls", "us", 190, wall/1e3, callTolerance, graph+", --host "+name,
			"its stages sum to 183.5 us, and the floor fitted to this host's rows is "+fmt.Sprintf("%.1f us", h.Floor.Value))
		p.addClaim(area, "share of the call that is overhead", "%", 98, 100*float64(res.Host())/wall, 0.01, graph+", --host "+name, "190 us less 2 % leaves 3.8 us to the engine")
	}
	air, err := engine.HostByName("macos-air")
	if err != nil {
		return err
	}
	document := map[string]float64{"binding and copies": 25, "request": 16, "kick": 2.5, "firmware": 130, "completion": 10}
	sum, past := 0.0, 0.0
	for _, s := range air.Stages() {
		p.addClaim(area, "stage: "+s.Name, "us", document[s.Name], s.Time.Value, 0.1, "--host macos-air: the split scaled to its floor", "")
		sum += document[s.Name]
		if s.Name != "binding and copies" {
			past += document[s.Name]
		}
	}
	p.addClaim(area, "sum of the stages", "us", 190, sum, 0.02, "the documents' own stages", "190 us a call: 6.5 us are in no stage")
	p.addClaim(area, "SendRequest, entry to return", "us", 163, past, 0.02, "the documents' own stages past the binding", "the stages past the binding sum to 158.5 us")
	linux, err := engine.HostByName("linux")
	if err != nil {
		return err
	}
	p.addClaim(area, "a submit under Linux, 38 to 42 us", "us", 40, linux.Floor.Value, 0.05, "--host linux", "linux-m1 rows are fitted at 21.5 us")
	res, err := anesim.Identity().Run(p.ctx, anesim.Options{})
	if err != nil {
		return err
	}
	most := 0.0
	for i := range res.Report.Descriptors {
		most = max(most, float64(res.Report.Descriptors[i].Time)/1e3)
	}
	p.addClaimAtMost(area, "a small descriptor", "us", 2.8, most, "anesim run", "Apple's model has 44 cycles, 0.03 us")
	return nil
}

// compareSharedEngine compares the times of calls of several threads and streams with the
// documents.
func (p *paper) compareSharedEngine() error {
	calls := func(keys string) (*scripts.Load, error) {
		s, err := traffic.ReadScript([]byte("host: macos-air\nduration: 1s\nclients: [{layer: add c=64, " + keys + "}]"))
		if err != nil {
			return nil, err
		}
		return scripts.RunClients(p.ctx, s, func(c *traffic.ScriptClient) (*anesim.Model, error) {
			return nil, fmt.Errorf("unexpected model %q; want a layer", c.Model)
		})
	}
	var n [2]float64
	for i, keys := range []string{"threads: 1", "threads: 2"} {
		l, err := calls(keys)
		if err != nil {
			return err
		}
		n[i] = float64(len(l.Result.Clients[0].Latencies))
	}
	p.addClaim("sharing", "two submitting threads against one", "x", 1.04, n[1]/n[0], 0.01, "anesim load, back to back on macos-air; what runs beside the gate was inferred from this figure", "")
	p.rows[len(p.rows)-1].Basis = "inferred from it"
	l, err := calls("streams: 2")
	if err != nil {
		return err
	}
	p.addExactClaim("sharing", "overlapped streams of one process, of two, that never complete", "", 1, uint64(l.Result.Clients[0].Stuck), "anesim load, streams: 2", "")
	return nil
}

// compareStatefulRun runs an accumulator whose state stays in memory and compares its values with
// the documents.
func (p *paper) compareStatefulRun() error {
	m, err := anesim.Layer("add", "c=4")
	if err != nil {
		return err
	}
	s, err := anesim.NewSession(anesim.Options{Values: true})
	if err != nil {
		return err
	}
	l, err := s.Load(p.ctx, m)
	if err != nil {
		return err
	}
	if err := l.Alias("y", "z"); err != nil {
		return err
	}
	one := float16.Fromfloat32(1)
	if err := l.Set("x", []float16.Float16{one, one, one, one}); err != nil {
		return err
	}
	for n := 1; n <= 4; n++ {
		res, err := l.Call(p.ctx)
		if err != nil {
			return err
		}
		p.addClaim("state", fmt.Sprintf("resident accumulator, call %d", n), "", float64(n), float64(res.Outputs[0].Data[0].Float32()), 0, "anesim layer add c=4 --state y=z --repeat 4, x all ones", "")
	}
	return nil
}
