package command

import (
	"io"

	"anesim"
	"anesim/bench"
)

type jsonAccuracy struct {
	anesim.Header
	Rows        []jsonAccuracyRow        `json:"rows"`
	Summary     map[string]any           `json:"summary"`
	NotModelled []jsonUnmodelled         `json:"not_modelled"`
	Baselines   map[string]jsonSummaries `json:"baselines"`
	LeftOut     map[string]jsonSummaries `json:"left_out,omitempty"`
}

// A jsonAccuracyRow leaves out what was not published.
type jsonAccuracyRow struct {
	ID          string   `json:"id"`
	Tier        string   `json:"tier"`
	Op          string   `json:"op"`
	Chip        string   `json:"chip"`
	Host        string   `json:"host"`
	MeasuredUs  *float64 `json:"measured_us"`
	ModelUs     float64  `json:"model_us"`
	ErrorPct    *float64 `json:"error_pct"`
	MeasuredMJ  *float64 `json:"measured_mj"`
	ModelMJ     float64  `json:"model_mj"`
	EnergyError *float64 `json:"energy_error_pct"`
}

type jsonSummary struct {
	N      int     `json:"n"`
	Median float64 `json:"median_abs_pct"`
	P90    float64 `json:"p90_abs_pct"`
	Near   float64 `json:"within_17"` // a share, 0 to 1
}

type jsonSummaries map[string]jsonSummary

type jsonUnmodelled struct {
	ID   string `json:"id"`
	What string `json:"what"`
}

func summariesOf(groups []bench.Group) jsonSummaries {
	m := make(jsonSummaries)
	for _, g := range groups {
		m[g.Name] = jsonSummary{g.N, 100 * g.Median, 100 * g.P90, g.Near}
	}
	return m
}

func writeAccuracyJSON(w io.Writer, a, left *bench.Accuracy) error {
	out := jsonAccuracy{
		Header: anesim.NewHeader(), Rows: []jsonAccuracyRow{}, NotModelled: []jsonUnmodelled{},
		Summary: map[string]any{"op": summariesOf(a.Ops), "session": summariesOf(a.Sessions), "energy": summariesOf(a.Energy)},
		Baselines: map[string]jsonSummaries{
			"roofline": summariesOf(a.Roofline), "cost_columns": summariesOf(a.Columns), "vendor": summariesOf(a.Vendor),
		},
	}
	for name, s := range summariesOf(a.Tiers) {
		out.Summary[name] = s
	}
	if left != nil {
		out.LeftOut = map[string]jsonSummaries{"latency": summariesOf(left.Tiers), "session": summariesOf(left.Sessions), "energy": summariesOf(left.Energy)}
	}
	for i := range a.Rows {
		r := &a.Rows[i]
		j := jsonAccuracyRow{
			ID: r.Sample.Row.ID, Tier: r.Sample.Row.Tier, Op: r.Sample.Row.Op, Chip: r.Sample.Chip, Host: r.Sample.Host,
			ModelUs: r.Time.Model / 1e3, ModelMJ: r.Energy.Model / 1e6,
		}
		if r.Time.Reference > 0 {
			j.MeasuredUs, j.ErrorPct = new(r.Time.Reference/1e3), new(100*r.Time.Error())
		}
		if r.Energy.Reference > 0 {
			j.MeasuredMJ, j.EnergyError = new(r.Energy.Reference/1e6), new(100*r.Energy.Error())
		}
		out.Rows = append(out.Rows, j)
	}
	for _, err := range a.Unmodelled {
		out.NotModelled = append(out.NotModelled, unmodelledOf(err))
	}
	return anesim.WriteDocument(w, out)
}
