package bench

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"anesim/bench/internal/architectures"
	"anesim/hw"
	"anesim/hw/evidence"
	"anesim/hw/host"
	"anesim/hw/machine"
	"anesim/loader/layer"
)

// Whole networks take about what was published, and keeping tensors in the L2 saves time in every
// one.
func TestNetworks(t *testing.T) {
	list, err := CompareNetworks(DefaultPresets())
	if err != nil {
		t.Fatal(err)
	}
	// DistilBERT was measured in its publisher's form for the engine, at a batch that is not stated: some 1,100
	// tasks, each of which takes 3 us longer than in the model, although no other program shows such a cost.
	// The same program on an M1 Max under macOS took 1.22 times as long as on an M1 whose clock is lower.
	within := map[string]float64{"t074": 0.45, "p3": 0.18, "p1": 0.05, "p2": 0.05, "t083": 0.1, "t075": 0.1, "t076": 0.1, "t058": 0.05, "r0191": 0.05}
	for i := range list {
		r := &list[i]
		t.Logf("%s: %.0f us of engine, %.0f in memory, %.0f of host, published %.0f: %+.1f %%, with its family left out %+.1f %%", r.Row.Network,
			float64(r.Engine.Kept)/1e3, float64(r.Engine.InMemory)/1e3, float64(r.Engine.Host)/1e3, r.Row.Latency, 100*r.Time.Error(), 100*r.NewFamily.Error())
		if math.Abs(r.Time.Error()) > cmp.Or(within[r.Row.ID], 0.15) {
			t.Errorf("%s is off by %+.0f %%", r.Row.Network, 100*r.Time.Error())
		}
		// A compiler of 2023 streams rows that exceed L2, and every tensor of these networks does.
		if r.Engine.Kept > r.Engine.InMemory || r.Engine.Kept == r.Engine.InMemory && r.Row.Family != "Whisper" && r.Row.Family != "GPT-2" {
			t.Errorf("%s: %v with tensors kept in the L2, %v in memory", r.Row.Network, r.Engine.Kept, r.Engine.InMemory)
		}
		if len(r.Engine.Unmodelled) > 0 {
			t.Errorf("%s: not modelled: %q", r.Row.Network, r.Engine.Unmodelled)
		}
	}
	summaries, err := SummarizeNetworks(list)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range summaries {
		t.Logf("%s: %v, bias %+.1f %%, within 10 %%: %d, within 15 %%: %d, worst %s %+.1f %%", s.Protocol, s.Summary, 100*s.Bias, s.Within10, s.Within15, s.Worst, 100*s.WorstError)
	}
	// A study of 29 networks, of which these are 13 and Depth Anything, had 3.5 % for both, with one time of a call for all.
	network, family := summaries[1], summaries[2]
	if network.Median > 0.05 || family.Median > 0.07 || family.Within15 < 13 {
		what := ""
		for i := range list {
			what += fmt.Sprintf("\n\t%s %+.1f %%", list[i].Row.Network, 100*list[i].NewFamily.Error())
		}
		t.Errorf("median error of networks on phones: %.1f %% with the network left out, %.1f %% with its family; want at most 5 %% and 7 %%, and 13 of 14 within 15 %% (have %d):%s",
			100*network.Median, 100*family.Median, family.Within15, what)
	}
	macs, err := SummarizeMacs(list)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%v", macs)
	if macs.N < 12 || macs.Median > 0.1 {
		t.Errorf("%d networks on Macs have a median error of %.1f %%; want at most 10 %%", macs.N, 100*macs.Median)
	}
	// The preset is what the networks say, and a change of the engine's model shows here first.
	for _, name := range [...]string{phone, phone2022} {
		m, err := machine.ByName(name)
		if err != nil {
			t.Fatal(err)
		}
		fit, preset := fitFloor(list, name, func(*NetworkRow) bool { return true }), m.Host.Floor.Value
		if math.Abs(float64(fit)/1e3-preset) > 5 {
			t.Errorf("a call on %s takes %.0f us by a fit of today, the preset has %.0f", name, float64(fit)/1e3, preset)
		}
	}
	n, err := timeNetwork(architectures.ResNet50(), layer.Newest, hw.M1(), host.Host{})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("ResNet-50 on an M1: %.0f us, %.0f in memory", float64(n.Kept)/1e3, float64(n.InMemory)/1e3)
	page, err := os.ReadFile(filepath.Join("..", "docs", "accuracy.md"))
	if err != nil {
		t.Fatal(err)
	}
	if says := fmt.Sprintf("The model gives ResNet-50 %.1f ms of engine time on an M1.", float64(n.Kept)/1e6); !strings.Contains(string(page), says) {
		t.Errorf("docs/accuracy.md does not say %q", says)
	}
	if n.Kept < 1.5e6 || n.Kept > 2.8e6 {
		t.Errorf("ResNet-50 takes %v on an M1, want 1.5 to 2.8 ms", n.Kept)
	}
}

// A row that says which system compiled its network is lowered as by that release: a Whisper of 2023 takes twice as
// long as one that is compiled today, and the published time of 2023 is that of the former.
func TestNetworksKnowTheirCompiler(t *testing.T) {
	p := DefaultPresets()
	for _, r := range NetworkRows() {
		if r.ID != "t075" {
			continue
		}
		if r.Release() != layer.Release2023 {
			t.Fatalf("%s: release %d", r.Software, r.Release())
		}
		c, h, err := r.presets(&p)
		if err != nil {
			t.Fatal(err)
		}
		now, err := timeNetwork(r.text(), layer.Newest, c, h)
		if err != nil {
			t.Fatal(err)
		}
		if e := (Pair{float64(now.Kept), r.Latency * 1e3}).Error(); e > -0.4 {
			t.Errorf("compiled today it takes %v, %+.0f %% of the published time", now.Kept, 100*e)
		}
	}
	for software, want := range map[string]layer.Release{"": layer.Newest, "macOS 14.1": layer.Release2023, "macOS 15": layer.Newest, "macOS 26": layer.Newest, "iOS 16": layer.Release2023, "iOS 18": layer.Newest} {
		if r := (NetworkRow{Software: software}); r.Release() != want {
			t.Errorf("%q: release %d, want %d", software, r.Release(), want)
		}
	}
}

// The host's time is what a user sees who runs the network: of its own inputs, results and weights.
func TestNetworksCallTheirHost(t *testing.T) {
	p := DefaultPresets()
	c, h := p.Chips["m1max"], p.Hosts["macos-max"]
	h = host.Host{Name: h.Name, Chip: h.Chip, Floor: h.Floor, In: h.In}
	h.In.Value = 1000 // microseconds a megabyte
	times := map[string]float64{}
	for name, text := range map[string]string{"small": "{c: 4, h: 8, w: 8}", "large": "{c: 4, h: 8, w: 512}"} {
		n, err := timeNetwork("inputs: {x: "+text+"}\nlayers:\n  - {op: reduce, kind: max, axis: w}\n", layer.Newest, c, h)
		if err != nil {
			t.Fatal(err)
		}
		times[name] = float64(n.Host)
	}
	if more := times["large"] - times["small"]; math.Abs(more-2*4*8*(512-8)*1000e3/1e6) > 1 {
		t.Errorf("the host takes %v ns more for 32 kB of input; want 1 us a kB", more)
	}
}

// The rate of weights, in which the A14 differs from the M1, is what the networks of phones say: with the
// time of a call fitted to each, other rates that were tried have larger errors. The planar rate they
// do not settle; see the A14's constant.
func TestPhoneRates(t *testing.T) {
	misses := func(change func(*hw.Chip)) float64 {
		p := DefaultPresets()
		c := p.Chips["a14"]
		change(&c)
		p.Chips["a14"] = c
		list, err := compareNetworks(p, (*NetworkRow).onPhone)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for i := range list {
			floor := fitFloor(list, list[i].Row.On, func(*NetworkRow) bool { return true })
			sum += math.Abs(list[i].withHost(floor).Error())
		}
		return sum
	}
	preset := misses(func(*hw.Chip) {})
	for name, change := range map[string]func(*hw.Chip){
		"weights at the M1's rate":          func(c *hw.Chip) { c.LaneRate = hw.M1().LaneRate },
		"weights at 27 GB/s":                func(c *hw.Chip) { c.LaneRate.Value = 1.7e9 },
		"tensors at the rate of the memory": func(c *hw.Chip) { c.ReadRate.Value, c.TotalRate.Value = 34e9, 34e9 },
	} {
		if got := misses(change); got < 1.05*preset {
			t.Errorf("%s: the errors sum up to %.2f, with the preset to %.2f", name, got, preset)
		}
	}
	// A known gap: a planar rate between that of the M1 and the vendor's estimate has smaller errors in sum,
	// mostly of Depth Anything, though not in the median.
	if got := misses(func(c *hw.Chip) { c.PlanarRate.Value = 26e9 }); got >= preset {
		t.Errorf("the errors sum up to %.2f with 26e9 planar elements a second, and with the preset to %.2f: the gap has closed, so say so at the A14's constant", got, preset)
	}
}

// A host's machine has the chip whose rows and networks the host was fitted to.
func TestHostsKnowTheirChip(t *testing.T) {
	chips := make(map[string]string)
	for _, s := range builtin(t) {
		chips[s.Host] = s.Chip
	}
	for _, r := range NetworkRows() {
		m, err := machine.ByName(r.On)
		if err != nil {
			t.Fatal(err)
		}
		chips[m.Host.Name] = m.Chip.Name
	}
	for name, h := range DefaultPresets().Hosts {
		if h.Floor.Evidence == evidence.Measured {
			continue // not fitted to rows
		}
		if name != noHost && h.Chip != chips[name] {
			t.Errorf("host %s is on chip %q, its rows are of %q", name, h.Chip, chips[name])
		}
	}
}
