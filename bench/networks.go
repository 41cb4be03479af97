package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"

	"anesim"
	"anesim/bench/internal/architectures"
	"anesim/hw"
	"anesim/hw/clock"
	"anesim/hw/host"
	"anesim/hw/machine"
	"anesim/loader/layer"
	"anesim/loader/network"
	"anesim/loader/network/list"
)

// A NetworkRow is a published time for one run of a network whose layers are known.
type NetworkRow struct {
	ID, Network string
	Family      string  // networks of the same authors and kind, which share blocks
	On          string  // name of the machine in package machine
	Machine     string  // name as published
	Software    string  // the system that compiled the network, such as "macOS 13.2"; "" if it is not known
	Latency     float64 // microseconds, including the host's part
	Source      string
	text        func() string
}

// Release returns the release of Apple's compiler that the row was compiled with: that of 2023 up to
// iOS 17 and macOS 14, and otherwise the newest, also if the system is not known.
func (r *NetworkRow) Release() layer.Release {
	switch name, version, _ := strings.Cut(r.Software, " "); {
	case name == "iOS" && version < "18", name == "macOS" && version < "15":
		return layer.Release2023
	}
	return layer.Newest
}

// presets returns the chip, at the clock of its machine, and the host of r, with the constants in p.
func (r *NetworkRow) presets(p *Presets) (hw.Chip, host.Host, error) {
	m, err := machine.ByName(r.On)
	if err != nil {
		return hw.Chip{}, host.Host{}, err
	}
	c := p.Chips[m.Chip.Name]
	if m.Chip.Clock.Value < c.Clock.Value {
		c = c.AtClock(clock.Hertz(m.Chip.Clock.Value))
	}
	return c, p.Hosts[m.Host.Name], nil
}

// onPhone reports whether r was measured on a phone, to whose networks the hosts of phones are fitted.
func (r *NetworkRow) onPhone() bool { return r.On == phone || r.On == phone2022 }

// An OmittedNetwork is a network whose published time is not compared, and why.
type OmittedNetwork struct{ Network, Machine, Reason string }

// OmittedNetworks returns the networks with published times that [NetworkRows] omits on purpose.
func OmittedNetworks() []OmittedNetwork {
	return []OmittedNetwork{
		{"MobileNetV2", "iPhone 12", "its two published times contradict each other"},
		{"GPT-2 medium with a cache", "MacBook Pro (M1 Pro or Max)", "up to 30% of its operators ran on the CPU"},
		{"Llama 2 7B, MLPs with palettes", "MacBook Pro (M1 Max)", "palettes without their values cannot be packed"},
		{"Stable Diffusion 2.1 U-Net", "iPad Pro (M1)", "its layers are not written down here"},
	}
}

// The machines of phones, by their system. Their hosts are fitted to networks. The other hosts are fitted to the rows of
// single layers, so that each network is new to them.
const (
	phone     = "a14"
	phone2022 = "a14-ios15" // a call takes 40 % longer
)

// NetworkRows returns the published times of networks whose layers are known, family by family. IDs
// that begin with r number all published rows, those with t the published networks, and those with p the runs of Parakeet.
func NetworkRows() []NetworkRow {
	const (
		iphone, pro, max12   = "iPhone 12 (A14)", "iPhone 12 Pro (A14)", "iPhone 12 Pro Max (A14)"
		mobileOne, repViT    = "apple/ml-mobileone README", "THU-MIG/RepViT README"
		repNeXt, former      = "suous/RepNeXt README", "snap-research/EfficientFormer README"
		depth, whisperCPP    = "huggingface.co/apple/coreml-depth-anything-small", "ggml-org/whisper.cpp PR 566"
		parakeet             = "joshuaswarren/omarchy-ane, ane-linux-experiments receipts"
		smpanaro             = "smpanaro/more-ane-transformers"
		fastViT, clip, dense = "apple/ml-fastvit README", "apple/ml-mobileclip README", "woolfel/ml-macos-performance results.md"
	)
	phone := func(id, network, family, machine string, us float64, source string, text func() string) NetworkRow {
		// The tables of RepViT, RepNeXt and Depth Anything state their system. The others have that of the year
		// in which they were published (June 2022 twice, 2023 and 2024); one of 2022 names coremltools 5, of iOS 15.
		software := map[string]string{mobileOne: "iOS 15", former: "iOS 15", repViT: "iOS 16", repNeXt: "iOS 16", fastViT: "iOS 16", clip: "iOS 17", depth: "iOS 18"}[source]
		on := phone
		if software == "iOS 15" {
			on = phone2022
		}
		return NetworkRow{id, network, family, on, machine, software, us, source, text}
	}
	// The widths and depths are those of the published models.
	return []NetworkRow{
		phone("r0214", "MobileOne-S0", "MobileOne", pro, 790, mobileOne, func() string {
			return architectures.MobileOne("mobileone_s0", [5]int{48, 48, 128, 256, 1024}, [2]int{})
		}),
		phone("r0216", "MobileOne-S2", "MobileOne", pro, 1180, mobileOne, func() string {
			return architectures.MobileOne("mobileone_s2", [5]int{64, 96, 256, 640, 2048}, [2]int{})
		}),
		phone("r0218", "MobileOne-S4", "MobileOne", pro, 1860, mobileOne, func() string {
			return architectures.MobileOne("mobileone_s4", [5]int{64, 192, 448, 896, 2048}, [2]int{5, 1})
		}),
		phone("t007", "RepViT-M0.9", "RepViT", iphone, 900, repViT, func() string {
			return architectures.RepViT("repvit_m0_9", [4]int{48, 96, 192, 384}, [4]string{"100", "0100", "0101010101010100", "010"})
		}),
		phone("t009", "RepViT-M1.1", "RepViT", iphone, 1100, repViT, func() string {
			return architectures.RepViT("repvit_m1_1", [4]int{64, 128, 256, 512}, [4]string{"100", "0100", "01010101010100", "010"})
		}),
		phone("t011", "RepViT-M2.3", "RepViT", iphone, 2300, repViT, func() string {
			return architectures.RepViT("repvit_m2_3", [4]int{80, 160, 320, 640}, [4]string{"1010100", "01010100", strings.Repeat("01", 17) + "00", "010"})
		}),
		phone("t017", "RepNeXt-M0", "RepNeXt", iphone, 590, repNeXt, func() string {
			return architectures.RepNeXt("repnext_m0", [4]int{40, 80, 160, 320}, [4]int{2, 2, 9, 1})
		}),
		phone("t019", "RepNeXt-M2", "RepNeXt", iphone, 1000, repNeXt, func() string {
			return architectures.RepNeXt("repnext_m2", [4]int{56, 112, 224, 448}, [4]int{3, 3, 15, 2})
		}),
		phone("t021", "RepNeXt-M4", "RepNeXt", iphone, 1480, repNeXt, func() string {
			return architectures.RepNeXt("repnext_m4", [4]int{64, 128, 256, 512}, [4]int{5, 5, 25, 4})
		}),
		phone("t026", "EfficientFormer-L1", "EfficientFormer", iphone, 1600, former, func() string {
			return architectures.EfficientFormer("efficientformer_l1", [4]int{48, 96, 224, 448}, [4]int{3, 2, 6, 4}, 1)
		}),
		phone("t028", "EfficientFormer-L7", "EfficientFormer", iphone, 7000, former, func() string {
			return architectures.EfficientFormer("efficientformer_l7", [4]int{96, 192, 384, 768}, [4]int{6, 6, 18, 8}, 8)
		}),
		phone("t036", "FastViT-T12", "FastViT", pro, 1200, fastViT, func() string {
			return architectures.FastViT("fastvit_t12", [4]int{64, 128, 256, 512}, [4]int{2, 2, 6, 2}, 3)
		}),
		phone("t048", "MobileCLIP-B text", "MobileCLIP", max12, 3300, clip, func() string {
			return architectures.CLIPText("mobileclip_b_text", 512, 8, 12)
		}),
		phone("t049", "Depth Anything small", "Depth Anything", max12, 31100, depth, func() string { return architectures.DepthAnything(392, 518) }),
		{"t050", "Depth Anything small", "Depth Anything", "m1max", "MacBook Pro M1 Max", "macOS 15", 32800, depth, func() string { return architectures.DepthAnything(392, 518) }},
		{"r0189", "DenseNet-121", "DenseNet", "m1max", "MacBookPro M1 Max (2021)", "macOS 12", 2050.815, dense, architectures.DenseNet121},
		{"t083", "ResNet-18", "ResNet", "m1pro", "MacBookPro M1 Pro", "", 900, "pytorch/executorch issue 5718", architectures.ResNet18},
		{"t075", "Whisper tiny encoder", "Whisper", "m1pro", "MacBook M1 Pro, a first call", "macOS 13.2", 30e3, whisperCPP, func() string { return architectures.Whisper(4, 384, 6) }},
		{"t076", "Whisper base encoder", "Whisper", "m1pro", "MacBook M1 Pro, a first call", "macOS 13.2", 64e3, whisperCPP, func() string { return architectures.Whisper(6, 512, 8) }},
		{"t058", "GPT-2 medium, 512 tokens", "GPT-2", "m1max", "MacBook Pro 2021", "", 103e3, smpanaro, func() string { return architectures.GPT2(24, 1024, 16, 512) }},
		{"r0191", "GPT-2 large, 512 tokens", "GPT-2", "m1max", "MacBook Pro 2021", "", 210e3, smpanaro, func() string { return architectures.GPT2(36, 1280, 20, 512) }},
		{"t074", "DistilBERT, 256 tokens", "DistilBERT", "m1max", "MacBook Pro 2021", "", 8700, smpanaro, func() string { return architectures.DistilBERT(256) }},
		{"t052", "four MLPs of Llama 2 7B", "Llama 2", "m1max", "MacBook Pro M1 Max", "", 19420, "huggingface.co/smpanaro/coreml-joint-compression-test", func() string { return architectures.LlamaMLP(4) }},
		{"p1", "Parakeet encoder", "Parakeet", "m1-mbp", "MacBookPro17,1", "macOS 27", 113270, parakeet, func() string { return architectures.Parakeet(24) }},
		{"p2", "Parakeet encoder", "Parakeet", "m1-linux", "MacBookPro17,1", "macOS 27", 137914, parakeet, func() string { return architectures.Parakeet(24) }},
		{"p3", "Parakeet encoder", "Parakeet", "m1max", "MacBookPro18,2", "macOS 26", 138180, parakeet, func() string { return architectures.Parakeet(24) }},
		{"p4", "Parakeet encoder", "Parakeet", "m1max-linux", "MacBookPro18,2", "macOS 26", 438577, parakeet, func() string { return architectures.Parakeet(24) }},
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

// timeNetwork estimates the time of a network on the chip c, called by the host h. The network is given
// by text, a list of layers in YAML or a program in MIL, and compiled as by the given release.
func timeNetwork(text string, release layer.Release, c hw.Chip, h host.Host) (*NetworkTime, error) {
	out := new(NetworkTime)
	// It is not known which tensors stayed in L2 in the measured runs. The two runs are the bounds.
	for _, memory := range [...]bool{false, true} {
		// Read again, because compiling changes the layers.
		n, err := readNetwork(text)
		if err != nil {
			return nil, err
		}
		n.InMemory = memory
		n.SetRelease(release)
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

// readNetwork reads a list of layers in YAML or a program in MIL.
func readNetwork(text string) (*list.Network, error) {
	if strings.HasPrefix(text, "program(") {
		return network.ReadMIL([]byte(text), network.Options{})
	}
	return network.ReadYAML([]byte(text))
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
	return compareNetworks(p, func(*NetworkRow) bool { return true })
}

// compareNetworks estimates the time of the networks that keep selects, several at a time.
func compareNetworks(p Presets, keep func(*NetworkRow) bool) ([]NetworkResidual, error) {
	var out []NetworkResidual
	for _, r := range NetworkRows() {
		if keep(&r) {
			out = append(out, NetworkResidual{Row: r})
		}
	}
	var all sync.WaitGroup
	errs, slots := make([]error, len(out)), make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range out {
		all.Go(func() {
			slots <- struct{}{}
			errs[i] = out[i].estimate(&p)
			<-slots
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for i := range out {
		n := &out[i]
		if !n.Row.onPhone() {
			continue
		}
		n.NewNetwork = n.withHost(fitFloor(out, n.Row.On, func(r *NetworkRow) bool { return r.ID != n.Row.ID }))
		n.NewFamily = n.withHost(fitFloor(out, n.Row.On, func(r *NetworkRow) bool { return r.Family != n.Row.Family }))
	}
	return out, nil
}

// estimate sets the times of n with the constants in p.
func (n *NetworkResidual) estimate(p *Presets) error {
	c, h, err := n.Row.presets(p)
	if err == nil {
		n.Engine, err = timeNetwork(n.Row.text(), n.Row.Release(), c, h)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", n.Row.Network, err)
	}
	n.Time = n.withHost(n.Engine.Host)
	n.NewNetwork, n.NewFamily = n.Time, n.Time
	return nil
}

// withHost returns the time of a run with the given time of the host, and the published time.
func (n *NetworkResidual) withHost(t clock.Nanoseconds) Pair {
	return Pair{float64(machine.Wall(n.Engine.Kept, t)), n.Row.Latency * 1e3}
}

// fitFloor returns the time of a call on the named machine, a phone, that minimizes the sum of the relative errors
// of its networks that keep selects. The sum is least at the median of the differences of
// published times and engine times, each weighted with the inverse of its published time.
func fitFloor(list []NetworkResidual, on string, keep func(*NetworkRow) bool) clock.Nanoseconds {
	type rest struct{ time, weight float64 }
	var rests []rest
	half := 0.0
	for i := range list {
		n := &list[i]
		if n.Row.On == on && keep(&n.Row) {
			rests = append(rests, rest{float64(n.Row.Latency*1e3) - float64(n.Engine.Kept), 1 / n.Row.Latency})
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

// A NetworkSummary holds statistics of the relative errors of the networks on phones, or of those on Macs.
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
		s, err := summarizeNetworks(protocol.name, list, true, protocol.pair)
		if err != nil {
			return nil, err
		}
		if s.N >= 2 { // one network has neither a spread nor, left out, a fit
			out = append(out, s)
		}
	}
	return out, nil
}

// SummarizeMacs returns statistics of the networks on Macs in list, none of which is in a fit.
func SummarizeMacs(list []NetworkResidual) (NetworkSummary, error) {
	return summarizeNetworks("on Macs", list, false, func(n *NetworkResidual) Pair { return n.Time })
}

// summarizeNetworks returns statistics of the networks on phones, or of the others.
func summarizeNetworks(protocol string, list []NetworkResidual, phones bool, pair func(*NetworkResidual) Pair) (NetworkSummary, error) {
	s := NetworkSummary{Protocol: protocol}
	var pairs []Pair
	var ratios []float64
	for i := range list {
		n := &list[i]
		if n.Row.onPhone() != phones {
			continue
		}
		p := pair(n)
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
	if s.Summary, err = Summarize(pairs); err == nil && s.N >= 2 {
		s.Low, s.High = quantileBounds(ratios)
	}
	return s, err
}
