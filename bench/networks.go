package bench

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"anesim"
	"anesim/hw"
	"anesim/hw/clock"
	"anesim/hw/host"
	"anesim/hw/machine"
	"anesim/loader/network"
)

// A NetworkRow is a published time for one run of a network whose layers are known.
type NetworkRow struct {
	ID, Network string
	Family      string  // networks of the same authors and kind, which share blocks
	Chip        string  // name of the chip preset
	Host        string  // name of the host preset
	Machine     string  // name as published
	Latency     float64 // microseconds, including the host's part
	Source      string
	text        func() string
}

// An OmittedNetwork is a network whose published time is not compared, and why.
type OmittedNetwork struct{ Network, Machine, Reason string }

// OmittedNetworks returns the networks with published times that [NetworkRows] omits on purpose.
func OmittedNetworks() []OmittedNetwork {
	return []OmittedNetwork{{"MobileNetV2", "iPhone 12", "its two published times contradict each other"}}
}

// phoneHost is the host preset that is fitted to networks. The other hosts are fitted to the rows of
// single layers, so that each network is new to them.
const phoneHost = "iphone12-coreml"

// NetworkRows returns the published times of networks whose layers are known, family by family. IDs
// that begin with r number all published rows, and IDs that begin with t the published networks.
func NetworkRows() []NetworkRow {
	const (
		iphone, pro, max12   = "iPhone 12 (A14)", "iPhone 12 Pro (A14)", "iPhone 12 Pro Max (A14)"
		mobileOne, repViT    = "apple/ml-mobileone README", "THU-MIG/RepViT README"
		repNeXt, former      = "suous/RepNeXt README", "snap-research/EfficientFormer README"
		fastViT, clip, dense = "apple/ml-fastvit README", "apple/ml-mobileclip README", "woolfel/ml-macos-performance results.md"
	)
	phone := func(id, network, family, machine string, us float64, source string, text func() string) NetworkRow {
		return NetworkRow{id, network, family, "a14", phoneHost, machine, us, source, text}
	}
	// The widths and depths are those of the published models.
	return []NetworkRow{
		phone("r0214", "MobileOne-S0", "MobileOne", pro, 790, mobileOne, func() string {
			return buildMobileOne("mobileone_s0", [5]int{48, 48, 128, 256, 1024}, [2]int{})
		}),
		phone("r0216", "MobileOne-S2", "MobileOne", pro, 1180, mobileOne, func() string {
			return buildMobileOne("mobileone_s2", [5]int{64, 96, 256, 640, 2048}, [2]int{})
		}),
		phone("r0218", "MobileOne-S4", "MobileOne", pro, 1860, mobileOne, func() string {
			return buildMobileOne("mobileone_s4", [5]int{64, 192, 448, 896, 2048}, [2]int{5, 1})
		}),
		phone("t007", "RepViT-M0.9", "RepViT", iphone, 900, repViT, func() string {
			return buildRepViT("repvit_m0_9", [4]int{48, 96, 192, 384}, [4]string{"100", "0100", "0101010101010100", "010"})
		}),
		phone("t009", "RepViT-M1.1", "RepViT", iphone, 1100, repViT, func() string {
			return buildRepViT("repvit_m1_1", [4]int{64, 128, 256, 512}, [4]string{"100", "0100", "01010101010100", "010"})
		}),
		phone("t011", "RepViT-M2.3", "RepViT", iphone, 2300, repViT, func() string {
			return buildRepViT("repvit_m2_3", [4]int{80, 160, 320, 640}, [4]string{"1010100", "01010100", strings.Repeat("01", 17) + "00", "010"})
		}),
		phone("t017", "RepNeXt-M0", "RepNeXt", iphone, 590, repNeXt, func() string {
			return buildRepNeXt("repnext_m0", [4]int{40, 80, 160, 320}, [4]int{2, 2, 9, 1})
		}),
		phone("t019", "RepNeXt-M2", "RepNeXt", iphone, 1000, repNeXt, func() string {
			return buildRepNeXt("repnext_m2", [4]int{56, 112, 224, 448}, [4]int{3, 3, 15, 2})
		}),
		phone("t021", "RepNeXt-M4", "RepNeXt", iphone, 1480, repNeXt, func() string {
			return buildRepNeXt("repnext_m4", [4]int{64, 128, 256, 512}, [4]int{5, 5, 25, 4})
		}),
		phone("t026", "EfficientFormer-L1", "EfficientFormer", iphone, 1600, former, func() string {
			return buildEfficientFormer("efficientformer_l1", [4]int{48, 96, 224, 448}, [4]int{3, 2, 6, 4}, 1)
		}),
		phone("t028", "EfficientFormer-L7", "EfficientFormer", iphone, 7000, former, func() string {
			return buildEfficientFormer("efficientformer_l7", [4]int{96, 192, 384, 768}, [4]int{6, 6, 18, 8}, 8)
		}),
		phone("t036", "FastViT-T12", "FastViT", pro, 1200, fastViT, func() string {
			return buildFastViT("fastvit_t12", [4]int{64, 128, 256, 512}, [4]int{2, 2, 6, 2}, 3)
		}),
		phone("t048", "MobileCLIP-B text", "MobileCLIP", max12, 3300, clip, func() string {
			return buildCLIPText("mobileclip_b_text", 512, 8, 12)
		}),
		{"r0189", "DenseNet-121", "DenseNet", "m1max", "macos-max", "MacBookPro M1 Max (2021)", 2050.815, dense, buildDenseNet121},
		{"t083", "ResNet-18", "ResNet", "m1max", "macos-max", "MacBookPro M1 Pro", 900, "pytorch/executorch issue 5718", buildResNet18},
	}
}

// A NetworkTime holds two estimates of a network's engine time. Kept is the time if tensors between
// layers stay in L2 where they fit. InMemory is the time if all of them are written to memory and
// read back. Host is the host's time for a call with tensors kept in L2.
type NetworkTime struct {
	Kept, InMemory clock.Nanoseconds
	Host           clock.Nanoseconds
	Layers         []LayerTime
	Programs       int
	Unmodelled     []string // names of layers that cannot be lowered, with the reason
}

// A LayerTime holds two estimates of the engine time of one layer, as described for [NetworkTime].
type LayerTime struct {
	Name, Op       string
	Kept, InMemory clock.Nanoseconds
}

// TimeNetwork estimates the time of a network on the chip c, called by the host h. The network is given
// by text, a list of layers in YAML.
func TimeNetwork(text string, c hw.Chip, h host.Host) (*NetworkTime, error) {
	out := new(NetworkTime)
	for _, memory := range [...]bool{false, true} {
		n, err := network.ReadYAML([]byte(text))
		if err != nil {
			return nil, err
		}
		n.InMemory = memory
		r, err := anesim.FromNetwork(n).Run(context.Background(), anesim.Options{Chip: c, Host: h})
		if err != nil {
			return nil, err
		}
		for i := range r.Layers {
			l := &r.Layers[i]
			if !memory {
				out.Layers = append(out.Layers, LayerTime{Name: l.Layer.Name, Op: l.Layer.Op})
				if !l.Modelled() {
					out.Unmodelled = append(out.Unmodelled, l.Layer.Name+": "+l.Reason)
				}
			}
			if l.Report == nil {
				continue
			}
			if memory {
				out.Layers[i].InMemory = l.Report.Time
			} else {
				out.Layers[i].Kept = l.Report.Time
			}
		}
		if memory {
			out.InMemory = r.Report.Time
		} else {
			out.Kept, out.Host, out.Programs = r.Report.Time, r.Host(), len(r.Programs)
		}
	}
	return out, nil
}

// A NetworkResidual pairs a network's published time with the model's estimate of it.
type NetworkResidual struct {
	Row    NetworkRow
	Engine *NetworkTime
	Time   Pair // nanoseconds of a run, with tensors kept in L2
	// NewNetwork and NewFamily are the same as Time, but for a host that is fitted to networks they
	// use its fit without this network and without all of this family.
	NewNetwork, NewFamily Pair
}

// CompareNetworks estimates the time of every network with a published time, using the constants in
// p.
func CompareNetworks(p Presets) ([]NetworkResidual, error) {
	var out []NetworkResidual
	for _, r := range NetworkRows() {
		t, err := TimeNetwork(r.text(), p.Chips[r.Chip], p.Hosts[r.Host])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.Network, err)
		}
		n := NetworkResidual{Row: r, Engine: t}
		n.Time = n.withHost(t.Host)
		n.NewNetwork, n.NewFamily = n.Time, n.Time
		out = append(out, n)
	}
	for i := range out {
		n := &out[i]
		if n.Row.Host != phoneHost {
			continue
		}
		n.NewNetwork = n.withHost(fitFloor(out, func(r *NetworkRow) bool { return r.ID != n.Row.ID }))
		n.NewFamily = n.withHost(fitFloor(out, func(r *NetworkRow) bool { return r.Family != n.Row.Family }))
	}
	return out, nil
}

// withHost returns the time of a run with the given time of the host, and the published time.
func (n *NetworkResidual) withHost(t clock.Nanoseconds) Pair {
	return Pair{float64(machine.Wall(n.Engine.Kept, t)), n.Row.Latency * 1e3}
}

// fitFloor returns the time of a call on a phone that minimizes the sum of the relative errors of
// the networks of phones that keep selects. The sum is least at the median of the differences of
// published times and engine times, each weighted with the inverse of its published time.
func fitFloor(list []NetworkResidual, keep func(*NetworkRow) bool) clock.Nanoseconds {
	type rest struct{ time, weight float64 }
	var rests []rest
	half := 0.0
	for i := range list {
		n := &list[i]
		if n.Row.Host == phoneHost && keep(&n.Row) {
			rests = append(rests, rest{n.Row.Latency*1e3 - float64(n.Engine.Kept), 1 / n.Row.Latency})
			half += 0.5 / n.Row.Latency
		}
	}
	slices.SortFunc(rests, func(a, b rest) int { return cmp.Compare(a.time, b.time) })
	for _, r := range rests {
		if half -= r.weight; half <= 0 {
			return clock.Nanoseconds(max(0, r.time))
		}
	}
	return 0
}

// A NetworkSummary holds statistics of the relative errors of the networks on phones.
type NetworkSummary struct {
	Protocol string // rows to which the time of a call was fitted
	Summary
	Within10, Within15 int    // networks with an error of at most 10 and 15 percent
	Worst              string // the network with the largest error
	WorstError         float64
	// Low and High are the bounds, as factors of the estimate, between which [hw.IntervalWords]
	// published times are.
	Low, High float64
}

// SummarizeNetworks returns statistics of the networks on phones in list: as printed, with the
// network left out of the fit of the host, and with its family left out, which is the hardest.
func SummarizeNetworks(list []NetworkResidual) ([]NetworkSummary, error) {
	var out []NetworkSummary
	for _, protocol := range []struct {
		name string
		pair func(*NetworkResidual) Pair
	}{
		{"as printed", func(n *NetworkResidual) Pair { return n.Time }},
		{"network left out", func(n *NetworkResidual) Pair { return n.NewNetwork }},
		{"family left out", func(n *NetworkResidual) Pair { return n.NewFamily }},
	} {
		s := NetworkSummary{Protocol: protocol.name}
		var pairs []Pair
		var ratios []float64
		for i := range list {
			n := &list[i]
			if n.Row.Host != phoneHost {
				continue
			}
			p := protocol.pair(n)
			e := p.Error()
			pairs, ratios = append(pairs, p), append(ratios, p.Reference/p.Model)
			if math.Abs(e) <= 0.10 {
				s.Within10++
			}
			if math.Abs(e) <= 0.15 {
				s.Within15++
			}
			if math.Abs(e) > math.Abs(s.WorstError) {
				s.Worst, s.WorstError = n.Row.Network, e
			}
		}
		var err error
		if s.Summary, err = Summarize(pairs); err != nil {
			return nil, err
		}
		// One network has neither a spread nor, left out, a fit.
		if s.N < 2 {
			continue
		}
		s.Low, s.High = quantileBounds(ratios)
		out = append(out, s)
	}
	return out, nil
}
