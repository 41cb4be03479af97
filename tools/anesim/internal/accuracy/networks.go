package accuracy

import (
	"fmt"
	"io"

	"anesim/bench"
	"anesim/bench/report"
	"anesim/tools/anesim/internal/terminal"
)

// A jsonNetwork compares the modelled time of a whole network with its published time.
type jsonNetwork struct {
	ID         string         `json:"id"`
	Network    string         `json:"network"`
	Machine    string         `json:"machine"`
	Chip       string         `json:"chip"`
	Source     string         `json:"source"`
	MeasuredUs float64        `json:"measured_us"`
	ModelUs    float64        `json:"model_us"`
	ErrorPct   float64        `json:"error_pct"`
	EngineUs   float64        `json:"engine_us"`
	InMemoryUs float64        `json:"engine_in_memory_us"`
	HostUs     float64        `json:"host_us"`
	Layers     []jsonNetLayer `json:"layers"`
	NoModel    []string       `json:"not_modelled"`
}

type jsonNetLayer struct {
	Name       string  `json:"name"`
	Op         string  `json:"op"`
	EngineUs   float64 `json:"engine_us"`
	InMemoryUs float64 `json:"engine_in_memory_us"`
}

// WriteNetworks compares the modelled times of whole networks with their published times. It writes
// the comparison to w as JSON if asJSON is true, and as a table otherwise. If layers is true, a
// table of its layers follows for each network.
func WriteNetworks(w io.Writer, asJSON, layers bool) error {
	list, err := bench.CompareNetworks(bench.DefaultPresets())
	if err != nil {
		return err
	}
	if asJSON {
		return writeNetworksJSON(w, list)
	}
	p := terminal.NewPager(w)
	t := terminal.NewTable(
		terminal.Word("network", 0), terminal.Word("machine", 0), terminal.Number("measured us", 0), terminal.Number("model us", 0), terminal.Number("error", 0), terminal.Number("host us", 1),
		terminal.Number("engine us", 0), terminal.Number("all in memory", 1), terminal.Number("saved", 2), terminal.Number("not modelled", 3),
	)
	for i := range list {
		r := &list[i]
		kept, memory := float64(r.Engine.Kept)/1e3, float64(r.Engine.InMemory)/1e3
		us := func(v float64) string { return fmt.Sprintf("%.0f", v) }
		t.Add(r.Row.Network, r.Row.Machine, us(r.Row.Latency), us(r.Time.Model/1e3), fmt.Sprintf("%+.1f%%", 100*r.Time.Error()),
			us(float64(r.Host)/1e3), us(kept), us(memory), fmt.Sprintf("%.0f%%", 100*(memory-kept)/memory), report.Plural(len(r.Engine.Unmodelled), "layer"))
	}
	if p.WideTable(t, 0); p.Err != nil || !layers {
		return p.Err
	}
	for i := range list {
		fmt.Fprintf(w, "\n%s\n", list[i].Row.Network)
		t := terminal.NewTable(terminal.Word("layer", 0), terminal.Word("op", 0), terminal.Number("engine us", 0), terminal.Number("all in memory", 0))
		for _, l := range list[i].Engine.Layers {
			t.Add(l.Name, l.Op, fmt.Sprintf("%.2f", float64(l.Kept)/1e3), fmt.Sprintf("%.2f", float64(l.InMemory)/1e3))
		}
		if err := t.Print(w, terminal.Gap); err != nil {
			return err
		}
	}
	return nil
}

func writeNetworksJSON(w io.Writer, list []bench.NetworkResidual) error {
	out := struct {
		report.Header
		Networks []jsonNetwork `json:"networks"`
	}{report.NewHeader(), []jsonNetwork{}}
	for i := range list {
		r := &list[i]
		n := jsonNetwork{
			r.Row.ID, r.Row.Network, r.Row.Machine, r.Row.Chip, r.Row.Source, r.Row.Latency, r.Time.Model / 1e3, 100 * r.Time.Error(),
			float64(r.Engine.Kept) / 1e3, float64(r.Engine.InMemory) / 1e3, float64(r.Host) / 1e3, []jsonNetLayer{}, append([]string{}, r.Engine.Unmodelled...),
		}
		for _, l := range r.Engine.Layers {
			n.Layers = append(n.Layers, jsonNetLayer{l.Name, l.Op, float64(l.Kept) / 1e3, float64(l.InMemory) / 1e3})
		}
		out.Networks = append(out.Networks, n)
	}
	return report.WriteDocument(w, out)
}
