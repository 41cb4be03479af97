package machine

import (
	"fmt"
	"slices"
	"sync"

	"anesim/hw"
	"anesim/hw/clock"
	"anesim/hw/evidence"
	"anesim/hw/host"
)

// aliases are further names of machines. The networks that an A14 was measured with ran on an iPhone 12,
// a 12 Pro and a 12 Pro Max.
var aliases = map[string][]string{"a14": {"iphone12", "iphone12pro", "iphone12promax"}, "a14-ios15": {"iphone12-ios15"}, "m1": {"m1-air"}}

var (
	m1States    = []int{432, 492, 552, 684, 804, 888, 996, 1164, 1236, 1320, 1380, 1464}
	m1MaxStates = []int{300, 540, 780, 1020, 1260, 1500}
	m2MaxStates = []int{600, 852, 1104, 1356, 1596, 1848, 2100}
)

const (
	m1Ladder    = "device tree of a T8103"
	m1MaxLadder = "trace of the power manager of a T6001"
	m2MaxLadder = "device tree of a T6021; the time of 64 convolutions follows it within 1 %"
	rooflines   = "ANEForge's rooflines of the machine, private runtime"
)

// A row is a machine in the table. Adding a machine is adding a row.
type row struct {
	name, title string
	chip        hw.Chip
	host        host.Host
	clock       int // MHz, if not the highest state
	states      []int
	ladder      string
	gpu, memory float64 // GFLOP/s of the GPU, GB/s of memory: the published peaks
	sessions    string
	scaled      bool
}

// Machines returns all machines.
func Machines() []Machine { return slices.Clone(machines()) }

// machines returns the list of all machines, which it makes once: every command names them in its help.
var machines = sync.OnceValue(func() (list []Machine) {
	for _, r := range listRows() {
		m := Machine{Name: r.name, Title: r.title, Chip: r.chip, Host: r.host, States: r.states, StateSource: r.ladder, Sessions: r.sessions, Scaled: r.scaled, Call: spreads[r.name]}
		if r.clock > 0 {
			m.Chip = m.Chip.AtClock(clock.Hertz(r.clock) * 1e6)
		}
		m.Chip.Spread, m.Energy = engineSpreads[r.name], energySpreads[r.name]
		peak := func(v float64, unit, what string) evidence.Constant {
			return evidence.New(v, unit, evidence.Assumed, what+"; no measurement of ours")
		}
		m.GPU = Processor{peak(r.gpu, "GFLOP/s", "published peak of the cores"), peak(r.memory, "GB/s", "published peak of the memory")}
		m.CPU = Processor{peak(700, "GFLOP/s", "matrix code of the vendor's library on four cores of an M1"), peak(min(r.memory, 100), "GB/s", "published peak of the memory, of which a cluster of cores gets at most 100")}
		list = append(list, m)
	}
	return list
})

// listRows returns the rows of all machines.
func listRows() []row {
	h := make(map[string]host.Host)
	for _, x := range host.Presets() {
		h[x.Name] = x
	}
	return []row{
		{name: "m1", title: "MacBook Air (M1)", chip: hw.M1(), host: h["macos-air"], states: m1States, ladder: m1Ladder, gpu: 2600, memory: 68.25, sessions: "MacBookAir10,1, macOS 15: " + rooflines},
		{name: "m1-mbp", title: "MacBook Pro 13 (M1)", chip: hw.M1(), host: h["macos-mbp"], states: m1States, ladder: m1Ladder, gpu: 2600, memory: 68.25, sessions: "MacBookPro17,1, macOS 26, two sessions: " + rooflines},
		{name: "m1-linux", title: "M1 under Linux", chip: hw.M1(), host: h["linux-m1"], clock: 996, states: m1States, ladder: m1Ladder + "; Linux leaves the engine to the state of the processor: times of an encoder of 113.2, 138.7, 171 and 294.4 ms are those of 1464, 996, 804 and 432 MHz within 4 %", gpu: 2600, memory: 68.25, sessions: "a T8103 with a Linux driver"},
		{name: "m1pro", title: "MacBook Pro (M1 Pro)", chip: hw.M1Max(), host: h["macos-max"], states: m1MaxStates, ladder: m1MaxLadder, gpu: 5200, memory: 204.8, sessions: "none of its own: the chip and the host of the M1 Max"},
		{name: "m1max", title: "MacBook Pro (M1 Max)", chip: hw.M1Max(), host: h["macos-max"], states: m1MaxStates, ladder: m1MaxLadder, gpu: 10400, memory: 409.6, sessions: "MacBookPro18,2, macOS 26, two sessions: " + rooflines},
		{name: "m1max-linux", title: "M1 Max under Linux", chip: hw.M1Max(), host: h["linux"], clock: 300, states: m1MaxStates, ladder: m1MaxLadder + "; Linux leaves the lowest", gpu: 10400, memory: 409.6, sessions: "a T6001 with a Linux driver"},
		{name: "m1ultra", title: "Mac Studio (M1 Ultra)", chip: hw.M1Max(), host: h["macos-max"], states: m1MaxStates, ladder: m1MaxLadder, gpu: 20800, memory: 819.2, sessions: "none of its own: one of its two engines, with the host of the M1 Max"},
		{name: "a14", title: "iPhone 12 (A14)", chip: hw.A14(), host: h["iphone12-coreml"], gpu: 700, memory: 34.1, sessions: "networks of iPhone 12, 12 Pro and 12 Pro Max, Core ML; the host is that of iOS 16 and later"},
		{name: "a14-ios15", title: "iPhone 12 (A14), iOS 15", chip: hw.A14(), host: h["iphone12-ios15"], gpu: 700, memory: 34.1, sessions: "networks of iPhone 12 and 12 Pro that were published in 2022"},

		later("m2", "MacBook Air (M2)", "H14", 2100, 60.5, "that of the M2 Max, whose generation it shares", 3600, 102.4),
		later("m2max", "MacBook Pro (M2 Max)", "H14", 2100, 62, "the highest of seven states", 13600, 409.6),
		later("m2pro", "Mac mini (M2 Pro)", "H14", 2100, 61.9, "that of the M2 Max, whose generation it shares", 6800, 204.8),
		later("m3", "MacBook Air (M3)", "H15", 2064, 63.1, "the compiler's table of H15", 4100, 102.4),
		later("m3pro", "MacBook Pro (M3 Pro)", "H15", 2064, 63.1, "the compiler's table of H15", 7400, 153.6),
		later("m3max", "MacBook Pro (M3 Max)", "H15", 2064, 120, "the compiler's table of H15", 16400, 409.6),
		later("m4", "Mac mini (M4)", "H16", 2344, 64.2, "16 engines of 512 int8 multipliers reach 38.2 TOPS", 4600, 120),
		later("m4pro", "MacBook Pro (M4 Pro)", "H16", 2364, 126, "the highest state in the device tree", 9200, 273),
		later("m4max", "MacBook Pro (M4 Max)", "H16", 2364, 119, "that of the M4 Pro", 18400, 546),
		later("m5", "MacBook Pro (M5)", "H17", 2364, 70.2, "the compiler's table of H17", 5700, 153.6),
		// The last layer of a language model was read at this rate by an M5 Max, whose memory is as wide for an engine: of
		// M3 and M4, Pro and Max read alike. Products of one row on an M5 Pro, of 16 to 38 million weights, take 147 to
		// 150 GB/s more time each; a whole language model reached 121.
		later("m5pro", "MacBook Pro (M5 Pro)", "H17", 2364, 148, "the compiler's table of H17", 11500, 307),
		later("m6", "Mac (M6)", "H18", 2580, 152, "the highest of 32 states in a device tree; one of its two engines", 5700, 180),
	}
}

// later returns the row of a machine whose engine is of a later generation. read is the rate in GB/s
// at which the last layer of a language model reads its weights.
func later(name, title, generation string, mhz int, read float64, why string, gpu, memory float64) row {
	r := row{name: name, title: title, host: laterHost(), gpu: gpu, memory: memory, scaled: true}
	if generation == "H14" {
		r.host = EarlyHost()
	}
	r.chip = newScaledChip(name, generation, mhz, read*1e9, why)
	if generation == "H14" {
		r.states, r.ladder = m2MaxStates, m2MaxLadder
	}
	r.sessions = "an estimate from an M1's program; no measurement judges it"
	if n := judged[name]; n > 0 {
		r.sessions = fmt.Sprintf("an estimate from an M1's program; %d measurements judge it", n)
	}
	return r
}
