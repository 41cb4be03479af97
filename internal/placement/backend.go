package placement

import (
	"bytes"
	"fmt"
	"math"

	"go.yaml.in/yaml/v4"

	"anesim/hw/evidence"
)

// A Backend is a processor that can run operations of a network. Its rates and times determine how
// long an operation runs there.
type Backend struct {
	Name      string
	Rate      evidence.Constant // 1e9 fp16 operations per second; unset for the engine, whose times are given
	Bandwidth evidence.Constant // 1e9 bytes per second
	Launch    evidence.Constant // microseconds per segment
	// Interleaved reports whether the backend reads and writes tensors in the engine's layout.
	Interleaved bool
}

// A Machine is a set of backends, and the costs of passing tensors from one to another.
type Machine struct {
	Backends []Backend
	Repack   evidence.Constant // 1e9 bytes per second between the engine's layout and the host's
	Switch   evidence.Constant // microseconds per change of backend, in addition to the repacking
}

// Names of the backends that [Preset] returns, and that a file of rates can change.
const (
	Engine = "engine"
	GPU    = "gpu"
	CPU    = "cpu"
)

// Preset returns a machine with the engine, GPU and CPU of an M1. launch is the time in
// microseconds that the host needs to call the engine. repack is the time in microseconds for
// converting a megabyte of fp16 to the engine's layout; if its value is 0, an assumed rate is used.
func Preset(launch, repack evidence.Constant) Machine {
	assumed := func(v float64, unit, source string) evidence.Constant {
		return evidence.New(v, unit, evidence.Assumed, source)
	}
	const memory = 68.25
	m := Machine{
		Backends: []Backend{
			{Name: Engine, Launch: launch, Interleaved: true},
			{Name: GPU, Rate: assumed(2600, "GFLOP/s", "eight cores' published peak; no measurement of ours"),
				Bandwidth: assumed(memory, "GB/s", "LPDDR4X-4266 of 128 bits at its peak"), Launch: assumed(100, "us", "a command buffer and its completion; no measurement of ours")},
			{Name: CPU, Rate: assumed(700, "GFLOP/s", "matrix code of the vendor's library on four cores; no measurement of ours"),
				Bandwidth: assumed(memory, "GB/s", "LPDDR4X-4266 of 128 bits at its peak"), Launch: assumed(5, "us", "a call of the library; no measurement of ours")},
		},
		Repack: assumed(10, "GB/s", "about what hosts take to copy fp16 tensors"),
		Switch: assumed(10, "us", "waiting for one processor and waking another; no measurement of ours"),
	}
	if repack.Value > 0 { // us/MB
		m.Repack = evidence.New(1e3/repack.Value, "GB/s", repack.Evidence, repack.Source)
	}
	return m
}

// Only returns a copy of m with only the named backends. It ignores unknown names.
func (m Machine) Only(names ...string) Machine {
	var list []Backend
	for _, b := range m.Backends {
		for _, name := range names {
			if b.Name == name {
				list = append(list, b)
			}
		}
	}
	m.Backends = list
	return m
}

// maxFile is the largest size of a file of rates in bytes.
const maxFile = 1 << 16

// With returns a copy of m with the constants that a YAML file sets. data is the content of the
// file, such as
//
//	engine: {launch_us: 190}
//	gpu: {gflops: 5200, gb_per_s: 200, launch_us: 60}
//	cpu: {gflops: 900, gb_per_s: 60, launch_us: 2}
//	transfer: {gb_per_s: 12, switch_us: 5}
//
// The constants count as assumed, with name as their source. With returns an error for malformed
// YAML, an unknown key, a rate below 0.001 or a negative time.
func (m Machine) With(name string, data []byte) (Machine, error) {
	type rates struct {
		GFLOPS   *float64 `yaml:"gflops"`
		GBPerS   *float64 `yaml:"gb_per_s"`
		LaunchUs *float64 `yaml:"launch_us"`
	}
	var file struct {
		Engine, GPU, CPU rates
		Transfer         struct {
			GBPerS   *float64 `yaml:"gb_per_s"`
			SwitchUs *float64 `yaml:"switch_us"`
		}
	}
	if len(data) > maxFile {
		return m, fmt.Errorf("backends: file has %d bytes; want at most %d", len(data), maxFile)
	}
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	if err := d.Decode(&file); err != nil {
		return m, fmt.Errorf("backends: %w", err)
	}
	var bad error
	set := func(c *evidence.Constant, key string, v *float64, least float64, unit string) {
		if v == nil {
			return
		}
		if bad == nil && (math.IsNaN(*v) || math.IsInf(*v, 0) || *v < least) {
			bad = fmt.Errorf("backends: %s is %g; want a finite number of at least %g", key, *v, least)
		}
		*c = evidence.New(*v, unit, evidence.Assumed, name)
	}
	const slowest = 1e-3 // least rate, because rates are divisors
	// A copy, because the caller's machine must not change.
	list := append([]Backend(nil), m.Backends...)
	for i := range list {
		b := &list[i]
		r := map[string]rates{Engine: file.Engine, GPU: file.GPU, CPU: file.CPU}[b.Name]
		if b.Name == Engine && (r.GFLOPS != nil || r.GBPerS != nil) {
			return m, fmt.Errorf(`backends: engine accepts only "launch_us", not "gflops" or "gb_per_s"`)
		}
		set(&b.Rate, b.Name+".gflops", r.GFLOPS, slowest, "GFLOP/s")
		set(&b.Bandwidth, b.Name+".gb_per_s", r.GBPerS, slowest, "GB/s")
		set(&b.Launch, b.Name+".launch_us", r.LaunchUs, 0, "us")
	}
	m.Backends = list
	set(&m.Repack, "transfer.gb_per_s", file.Transfer.GBPerS, slowest, "GB/s")
	set(&m.Switch, "transfer.switch_us", file.Transfer.SwitchUs, 0, "us")
	return m, bad
}
