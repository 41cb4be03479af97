package anesim

import (
	"fmt"
	"sync"
	"time"

	"github.com/x448/float16"

	"anesim/firmware"
	"anesim/firmware/engine"
	"anesim/hw"
	"anesim/hw/execycles"
	"anesim/hw/host"
	"anesim/hw/machine"
	"anesim/internal/cache"
)

// Options configures a run. The zero value times one dispatch on an M1, without a host and without
// computing values. Time, bytes and energy are the same with and without values.
type Options struct {
	Chip hw.Chip   // the zero value means hw.M1
	Host host.Host // adds its part to the wall time; the zero value adds nothing
	// Machine is the machine that Chip and Host belong to, or nil. It gives the rates of the other
	// processors and the interval of a call.
	Machine *machine.Machine

	// Target is the target whose rules give Apple's estimates of the descriptors.
	// Layers and networks are lowered for it. 0 means the target for which a compiled program was
	// made, according to its banner or to the estimates that it stores, or that of Chip if they do not
	// say it. For layers and networks 0 means H13, the target of the programs that their lowering
	// reproduces, or H13G if they ask for the compiler of 2026.
	Target execycles.Target

	Values bool // compute values
	// Precision compares the results of multiply-accumulates with exact ones, on a sample, if Values is
	// set; see [hw.DescriptorReport].
	Precision bool
	// Inputs holds values by name, in N, C, H, W order. A run uses them without a copy and may
	// return them in its result, so they must not change meanwhile.
	Inputs map[string][]float16.Float16
	Shapes map[string][]int // shapes of Inputs by name; a shape that differs from the model's is an error
	// Numbers gives exact values of some of Inputs that fp16 may not represent, such as table
	// indices. The host uses them for the layers that it computes.
	Numbers map[string][]float64
	Seed    uint64 // seed of the pseudo-random inputs and weights that replace missing ones

	// State lists outputs that become inputs of the next dispatch; see [Loaded.Alias]. Such an
	// input starts at zero unless Inputs has values for it. The states of a Core ML model are
	// connected without it.
	State []StateAlias

	Bind map[string]uint64 // run-time parameters of each program; see [Loaded.Bind]

	Init *firmware.InitTable // register-init records; nil means the known ones
	// PowerBudget enables peak-power control: descriptors are throttled so that none exceeds this
	// mean power in watts. 0 means off; otherwise it must be larger than the chip's ActivePower.
	PowerBudget float64

	// Power is the host's power-management policy for the engine. The zero value is the chip's
	// default.
	Power firmware.PowerPolicy

	GateTiles uint32              // tiles to gate after init, bit 2e+h for half h of engine e
	Overrides []firmware.Override // register changes that apply to every descriptor

	// Repeat is the number of dispatches of the whole model; 0 means one. Only the first of many
	// are listed. The others are assumed to take as long as the last listed ones and are counted.
	Repeat int
	Idle   time.Duration // gap before each dispatch

	// Brief omits most descriptors of a long program from the result's list. If there are more than
	// 65,536, which is the number of distinct descriptor numbers, the first 4,096 are listed and
	// the others are only included in the sums. Runs of several dispatches or with values list all
	// descriptors.
	Brief bool

	// Each, if not nil, is called for every descriptor of a run without values, in order and during
	// the run, including those that Brief omits. Its argument is valid until it returns.
	Each func(*hw.DescriptorReport)

	Memory  uint64 // bytes of device memory; 0 means engine.DefaultMemory
	Workers int    // goroutines that compute values; 0 means one per processor
	Budget  uint64 // limit on the steps that compute the values of one dispatch; 0 means hw.DefaultBudget for each layer

	// Cache stores the programs that layers and networks are lowered to. nil means no cache.
	Cache *cache.Cache

	// Progress, if not nil, is called as work proceeds. Calls do not overlap. They come from a
	// goroutine of Run.
	Progress func(Progress)
}

// withDefaults returns a copy of o in which zero values are replaced by defaults. It returns an
// *[OptionError] if an option is not valid.
func (o Options) withDefaults() (Options, error) {
	switch {
	case o.Repeat < 0:
		return o, &OptionError{Option: "Repeat", What: fmt.Sprintf("negative dispatch count %d", o.Repeat)}
	case o.Repeat > maxRepeat:
		return o, &OptionError{Option: "Repeat", What: fmt.Sprintf("too many dispatches: %d; want at most %d", o.Repeat, int(maxRepeat))}
	}
	o.Repeat = max(1, o.Repeat)
	e, err := o.toEngineOptions().WithDefaults()
	o.Chip, o.Host, o.Memory = e.Chip, e.Host, e.Memory
	return o, err
}

// toEngineOptions returns the part of o that package engine understands.
func (o *Options) toEngineOptions() engine.Options {
	return engine.Options{
		Chip: o.Chip, Host: o.Host, Target: o.Target, Values: o.Values, Precision: o.Precision, Seed: o.Seed, Bind: o.Bind, Init: o.Init,
		PowerBudget: o.PowerBudget, Power: o.Power, GateTiles: o.GateTiles, Overrides: o.Overrides,
		Idle: o.Idle, Brief: o.Brief, Each: o.Each, Memory: o.Memory, Workers: o.Workers, Budget: o.Budget,
	}
}

// maxRepeat is the largest Options.Repeat. It keeps sums over all dispatches from overflowing.
const maxRepeat = 1e9

// A Stage is a phase of a run; see [Progress].
type Stage uint8

// The phases of a run.
const (
	StageLower Stage = iota // layers are lowered to programs
	StageRun                // descriptors run
)

// String returns "lowering" or "running".
func (s Stage) String() string {
	if s == StageLower {
		return "lowering"
	}
	return "running"
}

// A Progress says how many of the steps in a phase of a run are done.
type Progress struct {
	Stage Stage
	Done  int // layers lowered, or descriptors run
	Total int
}

// A meter counts the finished steps of a phase and reports them.
type meter struct {
	mu     sync.Mutex
	now    Progress
	report func(Progress)
}

// newMeter returns a meter that reports the progress of phase s to o.Progress. The phase has total
// steps. The meter does nothing if o.Progress is nil.
func (o *Options) newMeter(s Stage, total int) *meter {
	return &meter{now: Progress{s, 0, total}, report: o.Progress}
}

// addSteps counts steps as finished and reports the new sum. Several goroutines may call it at
// once.
func (m *meter) addSteps(steps int) {
	if m.report == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now.Done += steps
	m.report(m.now)
}
