package bench

import (
	"context"
	"slices"

	"anesim"
	"anesim/hw"
	"anesim/hw/clock"
	"anesim/hw/host"
	"anesim/loader/network"
)

// A NetworkRow is a published time for one run of a network whose layers are known.
type NetworkRow struct {
	ID, Network string
	Chip        string  // name of the chip preset
	Host        string  // name of the host preset; "" if the machine has none
	Machine     string  // name as published
	Latency     float64 // microseconds, including the host's part
	Source      string
	text        func() string
}

// NetworkRows returns the published times of networks whose layers are known. The A14 has no chip
// preset, so its rows use that of the M1. The engines of both chips are of the same generation, but
// their memory differs.
func NetworkRows() []NetworkRow {
	one := func(name string, widths [5]int, gated [2]int) func() string {
		return func() string { return buildMobileOne(name, widths, gated) }
	}
	const phone, apple = "iPhone 12 (A14)", "apple/ml-mobileone README"
	return []NetworkRow{
		{"r0214", "MobileOne-S0", "m1", "", phone, 790, apple, one("mobileone_s0", [5]int{48, 48, 128, 256, 1024}, [2]int{})},
		{"r0216", "MobileOne-S2", "m1", "", phone, 1180, apple, one("mobileone_s2", [5]int{64, 96, 256, 640, 2048}, [2]int{})},
		{"r0218", "MobileOne-S4", "m1", "", phone, 1860, apple, one("mobileone_s4", [5]int{64, 192, 448, 896, 2048}, [2]int{5, 1})},
		{"r0189", "DenseNet-121", "m1max", "macos-max", "MacBookPro M1 Max (2021)", 2050.815, "woolfel/ml-macos-performance results.md", buildDenseNet121},
	}
}

// A NetworkTime holds two estimates of a network's engine time. Kept is the time if tensors between
// layers stay in L2 where they fit. InMemory is the time if all of them are written to memory and
// read back.
type NetworkTime struct {
	Kept, InMemory clock.Nanoseconds
	Layers         []LayerTime
	Programs       int
	Unmodelled     []string // names of layers that cannot be lowered, with the reason
}

// A LayerTime holds two estimates of the engine time of one layer, as described for [NetworkTime].
type LayerTime struct {
	Name, Op       string
	Kept, InMemory clock.Nanoseconds
}

// TimeNetwork estimates the engine time of a network on the chip c. The network is given by text, a
// list of layers in YAML.
func TimeNetwork(text string, c hw.Chip) (*NetworkTime, error) {
	out := new(NetworkTime)
	for _, memory := range [...]bool{false, true} {
		n, err := network.ReadYAML([]byte(text))
		if err != nil {
			return nil, err
		}
		n.InMemory = memory
		r, err := anesim.FromNetwork(n).Run(context.Background(), anesim.Options{Chip: c})
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
			out.Kept, out.Programs = r.Report.Time, len(r.Programs)
		}
	}
	return out, nil
}

// A NetworkResidual pairs a network's published time with the model's estimate of it.
type NetworkResidual struct {
	Row    NetworkRow
	Engine *NetworkTime
	Host   clock.Nanoseconds
	Time   Pair // nanoseconds of a run, with tensors kept in L2
}

// pictureBytes is the size of a 224x224 image in fp16, and resultBytes that of the scores
// of 1000 classes.
const (
	pictureBytes = 2 * 3 * 224 * 224
	resultBytes  = 2 * 1000
)

// CompareNetworks estimates the time of every network with a published time, using the constants in
// p. The host's part of a time comes from the host preset of the machine. If there is no preset,
// CompareNetworks subtracts the estimated engine time from the published time of each other network on
// the machine, and uses the median of the differences.
func CompareNetworks(p Presets) ([]NetworkResidual, error) {
	var out []NetworkResidual
	for _, r := range NetworkRows() {
		t, err := TimeNetwork(r.text(), p.Chips[r.Chip])
		if err != nil {
			return nil, err
		}
		out = append(out, NetworkResidual{Row: r, Engine: t})
	}
	for i := range out {
		r := &out[i]
		if h, ok := p.Hosts[r.Row.Host]; ok {
			r.Host = h.Time(host.Load{In: pictureBytes, Out: resultBytes})
		} else {
			var left []float64
			for j := range out {
				if x := &out[j]; j != i && x.Row.Machine == r.Row.Machine {
					left = append(left, x.Row.Latency*1e3-float64(x.Engine.Kept))
				}
			}
			if len(left) > 0 {
				slices.Sort(left)
				r.Host = clock.Nanoseconds(max(0, quantile(0.5, left)))
			}
		}
		r.Time = Pair{float64(r.Engine.Kept + r.Host), r.Row.Latency * 1e3}
	}
	return out, nil
}
