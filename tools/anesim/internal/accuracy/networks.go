package accuracy

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"anesim/bench"
	"anesim/hw"
	"anesim/hw/machine"
	"anesim/internal/report"
	"anesim/tools/anesim/internal/terminal"
)

// A NetworksDocument is the JSON report of the model's accuracy for whole networks.
type NetworksDocument struct {
	report.Header
	Networks []jsonNetwork        `json:"networks"`
	Phones   []jsonNetworkSummary `json:"phones"`
	Macs     jsonNetworkSummary   `json:"macs"`
	Omitted  []jsonOmittedNetwork `json:"omitted"`
}

// A jsonNetwork compares the modelled time of a whole network with its published time.
type jsonNetwork struct {
	ID         string         `json:"id"`
	Network    string         `json:"network"`
	Family     string         `json:"family"`
	Machine    string         `json:"machine"`
	Software   string         `json:"software"`
	Release    int            `json:"compiler_release"` // 2023, or 0 for the newest
	On         string         `json:"model_machine"`
	Chip       string         `json:"chip"`
	Host       string         `json:"host"`
	Source     string         `json:"source"`
	MeasuredUs float64        `json:"measured_us"`
	ModelUs    float64        `json:"model_us"`
	ErrorPct   float64        `json:"error_pct"`
	NewNetwork float64        `json:"network_left_out_error_pct"`
	NewFamily  float64        `json:"family_left_out_error_pct"`
	EngineUs   float64        `json:"engine_us"`
	InMemoryUs float64        `json:"engine_in_memory_us"`
	HostUs     float64        `json:"host_us"`
	Layers     []jsonNetLayer `json:"layers"`
	NoModel    []string       `json:"not_modelled"`
}

// A jsonNetworkSummary holds statistics of the networks on phones.
type jsonNetworkSummary struct {
	Protocol  string  `json:"protocol"`
	N         int     `json:"n"`
	MedianPct float64 `json:"median_pct"`
	BiasPct   float64 `json:"bias_pct"`
	Within10  int     `json:"within_10_pct"`
	Within15  int     `json:"within_15_pct"`
	Worst     string  `json:"worst"`
	WorstPct  float64 `json:"worst_error_pct"`
	LowPct    float64 `json:"interval_low_pct"`
	HighPct   float64 `json:"interval_high_pct"`
}

type jsonOmittedNetwork struct {
	Network string `json:"network"`
	Machine string `json:"machine"`
	Reason  string `json:"reason"`
}

type jsonNetLayer struct {
	Name       string  `json:"name"`
	Op         string  `json:"op"`
	EngineUs   float64 `json:"engine_us"`
	InMemoryUs float64 `json:"engine_in_memory_us"`
}

// compareNetworks compares the networks with the built-in constants, in seconds of a processor, and only
// once in a process: its results do not depend on how they are written.
var compareNetworks = sync.OnceValues(func() ([]bench.NetworkResidual, error) {
	return bench.CompareNetworks(bench.DefaultPresets())
})

// WriteNetworks compares the modelled times of whole networks with their published times. It writes
// the comparison to w as JSON if asJSON is true, and as a table otherwise. If layers is true, a
// table of its layers follows for each network.
func WriteNetworks(w io.Writer, asJSON, layers bool) error {
	list, err := compareNetworks()
	if err != nil {
		return err
	}
	phones, err := bench.SummarizeNetworks(list)
	if err != nil {
		return err
	}
	macs, err := bench.SummarizeMacs(list)
	if err != nil {
		return err
	}
	if asJSON {
		return writeNetworksJSON(w, list, phones, macs)
	}
	p := terminal.NewPager(w)
	p.Width = cmp.Or(p.Width, networksWidth)
	if err := printNetworkTable(p, list); err != nil {
		return err
	}
	printNetworkSummaries(p, phones, &macs)
	for i := range list {
		if !layers {
			break
		}
		p.Printf("")
		p.Printf("%s", list[i].Row.Network)
		t := terminal.NewTable(terminal.Word("layer", 0), terminal.Word("op", 0), terminal.Number("engine us", 0), terminal.Number("all in memory", 0))
		for _, l := range list[i].Engine.Layers {
			t.Add(l.Name, l.Op, fmt.Sprintf("%.2f", float64(l.Kept)/1e3), fmt.Sprintf("%.2f", float64(l.InMemory)/1e3))
		}
		p.Table(t, terminal.Gap)
	}
	return p.Err
}

// networksWidth is the width of the comparison, in characters, if there is no terminal. --json has what it omits.
const networksWidth = 80

// printNetworkTable prints a row for each network, and the meaning of the columns that fit.
func printNetworkTable(p *terminal.Pager, list []bench.NetworkResidual) error {
	t := terminal.NewTable(
		terminal.Word("network", 0), terminal.Word("machine", 0), terminal.Number("measured", 0), terminal.Number("model", 0), terminal.Number("engine", 1), terminal.Number("host", 2),
		terminal.Number("error", 0), terminal.Number("unseen", 0), terminal.Number("network out", 3), terminal.Number("all in memory", 5), terminal.Number("saved", 6),
		terminal.Word("measured on", 4), terminal.Word("software", 4), terminal.Number("not modelled", 7),
	)
	for i := range list {
		r := &list[i]
		// Both ends are shown, since published sources do not say which tensors Apple's compiler keeps in L2.
		kept, memory := float64(r.Engine.Kept)/1e3, float64(r.Engine.InMemory)/1e3
		us := func(v float64) string { return fmt.Sprintf("%.0f", v) }
		t.Add(r.Row.Network, r.Row.On, us(r.Row.Latency), us(r.Time.Model/1e3), us(kept), us(float64(r.Engine.Host)/1e3),
			percent(r.Time), percent(r.NewFamily), percent(r.NewNetwork), us(memory), fmt.Sprintf("%.0f%%", 100*(memory-kept)/memory),
			r.Row.Machine, r.Row.Software, report.Plural(len(r.Engine.Unmodelled), "layer"))
	}
	p.Printf("times of a call in microseconds")
	if err := t.Write(p.W, p.Width, 0); err != nil {
		return err
	}
	omitted := t.Omitted(p.Width)
	p.Printf("")
	for _, x := range [...][2]string{
		{"machine", "what --machine names; its call is modelled"},
		{"engine", "engine's part; tensors stay in L2 where they fit"},
		{"host", "host's part"},
		{"error", "of the model's time; a phone's host is fitted to these networks"},
		{"unseen", "error of a fit of that host without the network's family"},
		{"network out", "error of a fit without the network"},
		{"all in memory", "engine's part with all tensors in memory"},
		{"saved", "share that is saved by tensors in L2"},
		{"not modelled", "layers that the model's time leaves out"},
	} {
		if !slices.Contains(omitted, x[0]) {
			p.Printf("%-13s  %s", x[0], x[1])
		}
	}
	if len(omitted) > 0 {
		p.Printf("not shown in %d characters: %s (--json has them)", p.Width, strings.Join(omitted, ", "))
	}
	p.Printf("Networks of iOS 17, macOS 14 and earlier are compiled as by the compiler of 2023, others as by the newest.")
	return p.Err
}

func percent(p bench.Pair) string { return fmt.Sprintf("%+.1f%%", 100*p.Error()) }

// printNetworkSummaries prints statistics of the networks on phones, and which networks are omitted.
func printNetworkSummaries(p *terminal.Pager, list []bench.NetworkSummary, macs *bench.NetworkSummary) {
	p.Printf("")
	t := terminal.NewTable(
		terminal.Word("", 0), terminal.Number("n", 0), terminal.Number("median", 0), terminal.Number("bias", 0),
		terminal.Number("≤10%", 0), terminal.Number("≤15%", 0), terminal.Word("worst", 0),
	)
	for _, s := range append(slices.Clone(list), *macs) {
		protocol := s.Protocol
		if s.Protocol != macs.Protocol {
			protocol = "phones, " + strings.Replace(protocol, " left out", " out", 1)
		}
		share := func(n int) string { return fmt.Sprintf("%.0f%%", 100*float64(n)/float64(s.N)) }
		t.Add(protocol, fmt.Sprint(s.N), fmt.Sprintf("%.1f%%", 100*s.Median), fmt.Sprintf("%+.1f%%", 100*s.Bias),
			share(s.Within10), share(s.Within15), fmt.Sprintf("%s %+.0f%%", s.Worst, 100*s.WorstError))
	}
	p.Table(t, 0)
	p.Printf("bias: median of the errors with their signs; ≤10%%: share of networks with an error of at most 10%%")
	if len(list) > 0 {
		s := &list[len(list)-1]
		p.Printf("%s of the times of a family that the fit has not seen are between %+.0f%% and %+.0f%% of the model's.", hw.IntervalPercent, 100*(s.Low-1), 100*(s.High-1))
	}
	for _, o := range bench.OmittedNetworks() {
		p.Printf("left out: %s, %s: %s", o.Network, o.Machine, o.Reason)
	}
}

func writeNetworksJSON(w io.Writer, list []bench.NetworkResidual, phones []bench.NetworkSummary, macs bench.NetworkSummary) error {
	out := NetworksDocument{report.NewHeader(), []jsonNetwork{}, []jsonNetworkSummary{}, newJSONNetworkSummary(&macs), []jsonOmittedNetwork{}}
	for i := range list {
		r := &list[i]
		m, err := machine.ByName(r.Row.On)
		if err != nil {
			return err
		}
		n := jsonNetwork{
			r.Row.ID, r.Row.Network, r.Row.Family, r.Row.Machine, r.Row.Software, int(r.Row.Release()), r.Row.On, m.Chip.Name, m.Host.Name, r.Row.Source, r.Row.Latency, r.Time.Model / 1e3,
			100 * r.Time.Error(), 100 * r.NewNetwork.Error(), 100 * r.NewFamily.Error(),
			float64(r.Engine.Kept) / 1e3, float64(r.Engine.InMemory) / 1e3, float64(r.Engine.Host) / 1e3, []jsonNetLayer{}, append([]string{}, r.Engine.Unmodelled...),
		}
		for _, l := range r.Engine.Layers {
			n.Layers = append(n.Layers, jsonNetLayer{l.Name, l.Op, float64(l.Kept) / 1e3, float64(l.InMemory) / 1e3})
		}
		out.Networks = append(out.Networks, n)
	}
	for i := range phones {
		out.Phones = append(out.Phones, newJSONNetworkSummary(&phones[i]))
	}
	for _, o := range bench.OmittedNetworks() {
		out.Omitted = append(out.Omitted, jsonOmittedNetwork(o))
	}
	return report.WriteDocument(w, out)
}

func newJSONNetworkSummary(s *bench.NetworkSummary) jsonNetworkSummary {
	return jsonNetworkSummary{s.Protocol, s.N, 100 * s.Median, 100 * s.Bias, s.Within10, s.Within15, s.Worst, 100 * s.WorstError, 100 * (s.Low - 1), 100 * (s.High - 1)}
}
