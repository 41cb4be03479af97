package anesim

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/x448/float16"

	"anesim/firmware"
	"anesim/hw"
	"anesim/hw/host"
	"anesim/loader/network"
)

// Options say how a model runs. The zero value times it once on an M1, without a host and
// without values: time, bytes and energy do not depend on them.
type Options struct {
	Chip hw.Chip   // the zero value is hw.M1
	Host host.Host // adds its part to the wall time; the zero value adds nothing

	Values bool // compute values
	// Inputs are values by name, in N, C, H, W order. A run reads them where they are, and
	// may hand them on in its result: they must not change meanwhile.
	Inputs map[string][]float16.Float16
	Shapes map[string][]int // of Inputs, checked where they are known
	// Numbers are the values of some of Inputs that fp16 may not have, such as places of a
	// table: what the host works out of a network is worked out with them.
	Numbers map[string][]float64
	Seed    uint64 // of the inputs and weights that are not given

	// State makes outputs the next dispatch's inputs; see [Loaded.Alias]. A state that no
	// input gives starts at zero.
	State []StateAlias

	Bind map[string]uint64 // run-time parameters of each program; see [Loaded.Bind]

	Init *firmware.InitTable // register-init records; nil for the known ones
	// PowerBudget arms peak-power control: no descriptor's mean power exceeds so many watts,
	// for which it is throttled. 0 is off; else it must be more than the chip's ActivePower.
	PowerBudget float64

	// Power is what the host sets of the engine's power management; the zero value is what
	// the chip does by itself.
	Power firmware.PowerPolicy

	GateTiles uint32              // tiles to gate after init, bit 2e+h
	Overrides []firmware.Override // register what-ifs, on every descriptor

	// Repeat is the dispatches of the whole model; 0 is one. Many of them are counted: the
	// first are listed, and the rest do what the last of these did. Those of a run with State
	// are all listed.
	Repeat int
	Idle   time.Duration // gap before each of them

	// Brief leaves most descriptors of a long program off the result's list: of more than
	// 65,536, which is as many as have a number of their own, the first 4,096 are listed and
	// the rest are in the sums alone. A run of several dispatches or with values lists all.
	Brief bool

	// Each, when it is not nil, is shown every descriptor of a run that is only timed, in
	// order, while the run goes on: those too that Brief leaves off the list. What it is
	// shown is good until it returns.
	Each func(*DescriptorDocument)

	Memory  uint64 // bytes of device memory; 0 is DefaultMemory
	Workers int    // goroutines for values; 0 is one a processor
	Budget  uint64 // steps of values of one program; 0 is hw.DefaultBudget a layer

	// RingDepth is the messages that each ring of a [Machine] holds, 0 for
	// [command.DefaultDepth].
	RingDepth int

	// Cache keeps the programs that layers and networks are lowered to. nil is none.
	Cache *ProgramCache

	// Progress is called as work goes on, one call at a time, from a goroutine of Run's.
	// nil is for none.
	Progress func(Progress)
}

// An OptionError is an option that no run can have.
type OptionError struct {
	Option string
	What   string
}

func (e *OptionError) Error() string { return fmt.Sprintf("option %s: %s", e.Option, e.What) }

// withDefaults fills in what is left out.
func (o Options) withDefaults() (Options, error) {
	bad := func(option, format string, args ...any) (Options, error) {
		return o, &OptionError{option, fmt.Sprintf(format, args...)}
	}
	if o.Chip == (hw.Chip{}) {
		o.Chip = hw.M1()
	}
	if err := checkChip(&o.Chip); err != nil {
		return o, err
	}
	if o.Host.Name == "" {
		o.Host = noHost()
	}
	switch {
	case o.Repeat < 0:
		return bad("Repeat", "%d dispatches; must be 0 (for one) or more", o.Repeat)
	case o.Repeat > maxRepeat:
		return bad("Repeat", "%d dispatches; at most %d", o.Repeat, int(maxRepeat))
	case o.Idle < 0:
		return bad("Idle", "a gap of %v; must be 0 or more", o.Idle)
	case o.PowerBudget != 0 && !(o.PowerBudget > o.Chip.ActivePower.Value && o.PowerBudget < 1e6):
		return bad("PowerBudget", "%g W; must be more than the %g W that powered engines take on chip %s", o.PowerBudget, o.Chip.ActivePower.Value, o.Chip.Name)
	case o.Power.Hysteresis < 0 || !(o.Power.Hysteresis < 1e18):
		return bad("Power", "a hysteresis of %v; must be 0 (for the chip's) or more", o.Power.Hysteresis)
	case o.Power.AlwaysOn && o.Power.Hysteresis > 0:
		return bad("Power", "without management nothing goes off, whatever the hysteresis")
	case o.Workers < 0:
		return bad("Workers", "%d goroutines; must be 0 (for one a processor) or more", o.Workers)
	}
	o.Repeat = max(1, o.Repeat)
	if o.Memory == 0 {
		o.Memory = DefaultMemory
	}
	return o, nil
}

// maxRepeat bounds the sums of a repeated run.
const maxRepeat = 1e9

// checkChip refuses a chip that leaves out what the device divides by.
func checkChip(c *hw.Chip) error {
	for _, k := range [...]struct {
		name  string
		value float64
		most  float64
	}{
		{"Clock", c.Clock.Value, 1e12}, {"Engines", c.Engines.Value, maxEngines}, {"MACs", c.MACs.Value, 1 << 30},
		{"PatchPixels", c.PatchPixels.Value, 1 << 30}, {"MaxPack", c.MaxPack.Value, 1 << 30},
		{"L2Bytes", c.L2Bytes.Value, 1 << 40}, {"L2Banks", c.L2Banks.Value, 1 << 20}, {"L2Granule", c.L2Granule.Value, 1 << 30},
	} {
		if !(k.value >= 1 && k.value <= k.most) {
			return &OptionError{"Chip", fmt.Sprintf("%s of chip %q is %g; must be 1 to %g", k.name, c.Name, k.value, k.most)}
		}
	}
	return nil
}

func noHost() host.Host {
	h, _ := host.ByName("none")
	return h
}

// ChipByName finds a chip's preset, "m1" or "m1max".
func ChipByName(name string) (hw.Chip, error) {
	c, err := hw.ChipByName(name)
	if err == nil {
		return c, nil
	}
	return c, unknownName("chip", name, ChipNames())
}

// ChipNames lists the chips' presets.
func ChipNames() []string {
	var names []string
	for _, c := range hw.Chips() {
		names = append(names, c.Name)
	}
	return names
}

// HostByName finds a host's preset; "none" adds nothing.
func HostByName(name string) (host.Host, error) {
	h, err := host.ByName(name)
	if err == nil {
		return h, nil
	}
	return h, unknownName("host", name, HostNames())
}

// HostNames lists the hosts' presets.
func HostNames() []string {
	var names []string
	for _, h := range host.Presets() {
		names = append(names, h.Name)
	}
	return names
}

func unknownName(what, name string, known []string) error {
	return fmt.Errorf("%s %q is none of %v%s", what, name, known, hint(Nearest(name, known)))
}

// ParseTiles reads a list of tiles like "0-3,7" for Options.GateTiles.
func ParseTiles(list string) (uint32, error) { return firmware.ParseTiles(list) }

// ParsePower reads settings like "gating=off,hysteresis=50ms" for Options.Power.
func ParsePower(list string) (firmware.PowerPolicy, error) { return firmware.ParsePowerPolicy(list) }

// ParseOverride reads a register what-if "GROUP.REGISTER.FIELD=VALUE" for
// Options.Overrides.
func ParseOverride(s string) (firmware.Override, error) { return firmware.ParseOverride(s) }

// ReadInit reads a register-init table, binary or CSV, for Options.Init.
func ReadInit(r io.ReaderAt, size int64) (*firmware.InitTable, error) {
	return firmware.ReadInit(r, size)
}

// A Stage is a part of a run that has a progress of its own.
type Stage uint8

// Stages of a run.
const (
	StageLower Stage = iota // layers become programs
	StageRun                // descriptors run
)

// String names the stage.
func (s Stage) String() string {
	if s == StageLower {
		return "lowering"
	}
	return "running"
}

// A Progress is how far a stage of a run is.
type Progress struct {
	Stage Stage
	Done  int // layers that are lowered, or descriptors that ran
	Total int
}

// A meter counts a stage's steps.
type meter struct {
	mu   sync.Mutex
	now  Progress
	tell func(Progress)
}

func (o *Options) meter(s Stage, total int) *meter {
	return &meter{now: Progress{s, 0, total}, tell: o.Progress}
}

// add counts steps; it may be called from several goroutines.
func (m *meter) add(steps int) {
	if m.tell == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now.Done += steps
	m.tell(m.now)
}

// ParseDims reads sizes of dimensions like "batch=1,height=640" for OpenOptions.Dims.
func ParseDims(text string) (map[string]int, error) { return network.ParseDims(text) }
