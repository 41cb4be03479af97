package anesim

import (
	"fmt"
	"sync"
	"time"

	"github.com/x448/float16"

	"anesim/firmware"
	"anesim/firmware/engine"
	"anesim/hw"
	"anesim/hw/host"
	"anesim/loader/cache"
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

	// Repeat is the dispatches of the whole model; 0 is one. The first of many are listed; the
	// rest take as long as the last of these and are counted.
	Repeat int
	Idle   time.Duration // gap before each of them

	// Brief leaves most descriptors of a long program off the result's list: of more than
	// 65,536, which is as many as have a number of their own, the first 4,096 are listed and
	// the rest are in the sums alone. A run of several dispatches or with values lists all.
	Brief bool

	// Each, when it is not nil, is shown every descriptor of a run that is only timed, in
	// order, while the run goes on: those too that Brief leaves off the list. What it is
	// shown is good until it returns.
	Each func(*hw.DescriptorReport)

	Memory  uint64 // bytes of device memory; 0 is engine.DefaultMemory
	Workers int    // goroutines for values; 0 is one a processor
	Budget  uint64 // steps of values of one program; 0 is hw.DefaultBudget a layer

	// Cache keeps the programs that layers and networks are lowered to. nil is none.
	Cache *cache.Cache

	// Progress is called as work goes on, one call at a time, from a goroutine of Run's.
	// nil is for none.
	Progress func(Progress)
}

// withDefaults fills in what is left out. The error is an *OptionError.
func (o Options) withDefaults() (Options, error) {
	switch {
	case o.Repeat < 0:
		return o, &OptionError{Option: "Repeat", What: fmt.Sprintf("%d dispatches; must be 0 (for one) or more", o.Repeat)}
	case o.Repeat > maxRepeat:
		return o, &OptionError{Option: "Repeat", What: fmt.Sprintf("%d dispatches; at most %d", o.Repeat, int(maxRepeat))}
	}
	o.Repeat = max(1, o.Repeat)
	e, err := o.engine().WithDefaults()
	o.Chip, o.Host, o.Memory = e.Chip, e.Host, e.Memory
	return o, err
}

// engine returns the options of the engine that runs the programs.
func (o *Options) engine() engine.Options {
	return engine.Options{
		Chip: o.Chip, Host: o.Host, Values: o.Values, Seed: o.Seed, Bind: o.Bind, Init: o.Init,
		PowerBudget: o.PowerBudget, Power: o.Power, GateTiles: o.GateTiles, Overrides: o.Overrides,
		Idle: o.Idle, Brief: o.Brief, Each: o.Each, Memory: o.Memory, Workers: o.Workers, Budget: o.Budget,
	}
}

// maxRepeat bounds the sums of a repeated run.
const maxRepeat = 1e9

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
