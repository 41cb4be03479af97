package accuracy

import (
	"io"

	"anesim/bench"
	"anesim/internal/report"
)

// A Document is the JSON report of the model's accuracy.
type Document struct {
	report.Header
	Rows        []jsonRow                `json:"rows"`
	Summary     map[string]any           `json:"summary"`
	NotModelled []jsonUnmodelled         `json:"not_modelled"`
	Baselines   map[string]jsonSummaries `json:"baselines"`
	LeftOut     map[string]jsonSummaries `json:"left_out,omitempty"`         // fits without rows of the same shape
	LeftSession map[string]jsonSummaries `json:"left_out_session,omitempty"` // fits without rows of the same session
	// Coverage is keyed by what the fit left out, then by the name of a tier, session, machine, kind of work or
	// length. The key "engine" is followed by the kind of descriptor.
	Coverage map[string]map[string]jsonCoverage `json:"coverage"`
	Work     []jsonWork                         `json:"work,omitempty"`
}

// A jsonWork holds the number of rows that cover a kind of work, and the bounds of the measured
// time relative to the estimated time.
type jsonWork struct {
	Work string  `json:"work"`
	Rows int     `json:"rows"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// A jsonRow is a measured row. Fields that were not published are null or missing.
type jsonRow struct {
	ID           string   `json:"id"`
	Tier         string   `json:"tier"`
	Op           string   `json:"op"`
	Chip         string   `json:"chip"`
	Host         string   `json:"host"`
	Session      string   `json:"session"`
	MeasuredUs   *float64 `json:"measured_us"`
	SustainedUs  *float64 `json:"sustained_us,omitempty"`
	Cold         bool     `json:"cold"`
	ModelUs      float64  `json:"model_us"`
	ModelLowUs   float64  `json:"model_low_us"`
	ModelHighUs  float64  `json:"model_high_us"`
	IntervalRows int      `json:"interval_rows"`
	ErrorPct     *float64 `json:"error_pct"`
	MeasuredMJ   *float64 `json:"measured_mj"`
	ModelMJ      float64  `json:"model_mj"`
	EnergyError  *float64 `json:"energy_error_pct"`
}

type jsonCoverage struct {
	N     int     `json:"n"`
	Holds int     `json:"holds"`
	Share float64 `json:"share"` // 0 to 1
}

type jsonSummary struct {
	N      int     `json:"n"`
	Median float64 `json:"median_abs_pct"`
	Bias   float64 `json:"bias_pct"` // median of the errors with their signs
	P90    float64 `json:"p90_abs_pct"`
	Near   float64 `json:"within_17"` // a share, 0 to 1
}

type jsonSummaries map[string]jsonSummary

type jsonUnmodelled struct {
	ID   string `json:"id"`
	What string `json:"what"`
}

func summarizeGroups(groups []bench.Group) jsonSummaries {
	m := make(jsonSummaries)
	for _, g := range groups {
		m[g.Name] = jsonSummary{g.N, 100 * g.Median, 100 * g.Bias, 100 * g.P90, g.Near}
	}
	return m
}

// summarizeLeftOut returns the summaries of a, in which each row is predicted by a fit without
// it. The keys of the map are the properties by which the rows are grouped.
func summarizeLeftOut(a *bench.Accuracy) map[string]jsonSummaries {
	return map[string]jsonSummaries{
		"latency": summarizeGroups(a.Tiers), "op": summarizeGroups(a.Ops), "session": summarizeGroups(a.Sessions), "size": summarizeGroups(a.Sizes),
		"state": summarizeGroups(a.States), "energy": summarizeGroups(a.Energy),
	}
}

// WriteJSON writes the report to w as the JSON of a [Document].
func (r *Report) WriteJSON(w io.Writer) error {
	return report.WriteDocument(w, r.newDocument())
}

// newDocument converts the report to a [Document].
func (r *Report) newDocument() *Document {
	out := &Document{
		Header: report.NewHeader(), Rows: []jsonRow{}, NotModelled: []jsonUnmodelled{},
		Summary: map[string]any{
			"op": summarizeGroups(r.Ops), "session": summarizeGroups(r.Sessions), "size": summarizeGroups(r.Sizes), "state": summarizeGroups(r.States), "energy": summarizeGroups(r.Energy),
		},
		Baselines: map[string]jsonSummaries{
			"roofline": summarizeGroups(r.Roofline), "cost_columns": summarizeGroups(r.Columns), "vendor": summarizeGroups(r.Vendor),
		},
		Coverage: make(map[string]map[string]jsonCoverage),
	}
	// Tiers are direct members of the summary; readers of the document rely on it.
	for name, s := range summarizeGroups(r.Tiers) {
		out.Summary[name] = s
	}
	if r.left != nil {
		out.LeftOut, out.LeftSession = summarizeLeftOut(r.left[bench.ByShape]), summarizeLeftOut(r.left[bench.BySession])
	}
	for _, c := range r.listCoverages() {
		m := make(map[string]jsonCoverage)
		for _, x := range c.rows {
			m[x.Name] = jsonCoverage{x.N, x.Holds, x.Share()}
		}
		out.Coverage[c.key] = m
	}
	for _, x := range r.works {
		out.Work = append(out.Work, jsonWork{x.Work.String(), x.Rows, x.Low, x.High})
	}
	for i := range r.Rows {
		x, in := &r.Rows[i], r.intervals[i]
		s := x.Sample
		j := jsonRow{
			ID: s.Row.ID, Tier: s.Row.Tier, Op: s.Row.Op, Chip: s.Chip, Host: s.Host, Session: s.Session, Cold: s.Row.Cold(),
			ModelUs: x.Time.Model / 1e3, ModelLowUs: in.Low / 1e3, ModelHighUs: in.High / 1e3, IntervalRows: in.Rows,
			ModelMJ: x.Energy.Model / 1e6,
		}
		// Members without a measurement are left out; a 0 would be a time.
		if x.Time.Reference > 0 {
			j.MeasuredUs, j.ErrorPct = new(x.Time.Reference/1e3), new(100*x.Time.Error())
		}
		if s.Row.Sustained > 0 {
			j.SustainedUs = new(s.Row.Sustained)
		}
		if x.Energy.Reference > 0 {
			j.MeasuredMJ, j.EnergyError = new(x.Energy.Reference/1e6), new(100*x.Energy.Error())
		}
		out.Rows = append(out.Rows, j)
	}
	for _, err := range r.Unmodelled {
		out.NotModelled = append(out.NotModelled, splitUnmodelledError(err))
	}
	return out
}
