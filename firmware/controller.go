package firmware

import (
	"fmt"

	"anesim/hw/clock"
	"anesim/hw/regs"
)

// A Device is an engine to which a [Controller] gives tasks.
type Device interface {
	// SetTileEnables enables the tiles (halves of MAC engines) whose bits are set in mask
	// and disables the others. Bits 2e and 2e+1 are the tiles of engine e.
	SetTileEnables(mask uint32)
	// Execute runs the task t to its end. It must not keep t, which the caller changes
	// afterwards. It returns true if the task faulted and the device cannot continue. The
	// device records the fault.
	Execute(t *regs.Task) (halt bool)
}

// A Controller models the processor that starts the engine, powers it, and gives it one task after
// another.
type Controller struct {
	// Overrides are applied to the task registers after the writes of each descriptor, as
	// if the descriptor contained them.
	Overrides []Override
	// PowerTimes says how long the engine needs to wake up after idle gaps. See
	// [Controller.Idle].
	PowerTimes PowerTimes
	// Ungated keeps all clusters of engines on while the engine is on, instead of only
	// those that a task needs.
	Ungated bool

	table    *InitTable
	mmio     MMIO
	power    Power
	wakeTime clock.Nanoseconds // time of the wake in the last Run
	booted   bool
}

// New returns a controller in the reset state. [Controller.Boot] performs the register writes in
// table.
func New(table *InitTable) *Controller { return &Controller{table: table} }

// Boot resets the registers and the power domains, then performs the writes of the init
// table in order. If the table is invalid, Boot returns an *[InitError] and the controller
// stays in the reset state.
func (c *Controller) Boot() error {
	c.mmio, c.power, c.booted = MMIO{}, Power{}, false
	if err := c.table.Check(); err != nil {
		return err
	}
	for _, r := range c.table.Records {
		b, _ := blockNamed(r.Block)
		c.mmio.writeMasked(b.Base+uint64(r.Offset), r.affectedBits(), r.Value)
	}
	c.booted = true
	return nil
}

func (c *Controller) ensureBooted() error {
	if c.booted {
		return nil
	}
	return c.Boot()
}

// MMIO returns the engine's registers other than the task registers.
func (c *Controller) MMIO() *MMIO { return &c.mmio }

// TileEnables returns the set of enabled tiles as a bit mask, read from the controller's
// registers. Bits 2e and 2e+1 are the tiles of MAC engine e.
func (c *Controller) TileEnables() uint32 {
	var mask uint32
	for tile := range Tiles {
		mask |= c.mmio.words[baseANE+uint64(tileEnableOffset(tile))] & 1 << tile
	}
	return mask
}

// GateTiles disables the tiles whose bits are set in mask, to study an engine with fewer
// tiles. It boots the controller first if necessary, and returns the *[InitError] of
// [Controller.Boot] if that fails.
func (c *Controller) GateTiles(mask uint32) error {
	if err := c.ensureBooted(); err != nil {
		return err
	}
	for tile := range Tiles {
		if mask>>tile&1 != 0 {
			c.mmio.writeMasked(baseANE+uint64(tileEnableOffset(tile)), 1, 0)
		}
	}
	return nil
}

// Run executes the chain of descriptors p on device d until the chain ends or the device halts. It
// returns the number of tasks executed. It boots the controller if necessary, wakes the engine, and
// powers up the clusters that each task needs.
//
// If booting fails, Run returns an *[InitError]. If the chain is invalid, Run executes the tasks
// before the invalid one and returns an error that wraps a *regs.StreamError. Faults of the device
// are not errors.
func (c *Controller) Run(p *regs.Stream, d Device) (int, error) {
	x, err := c.Pass(p, untimed{d})
	if err != nil {
		return 0, err
	}
	c.wakeTime = c.Wake(0)
	for more := true; more; {
		_, more = x.Run()
	}
	return x.Tasks, x.Err
}

// An untimed is a Device that reports no elapsed time.
type untimed struct{ Device }

// Elapsed returns 0, because the device has no clock.
func (untimed) Elapsed() clock.Nanoseconds { return 0 }

// WithOverrides returns a copy of p that also applies the overrides in list to the registers of
// each task, after p.Modify. It returns p itself if list is empty.
func WithOverrides(p *regs.Stream, list []Override) *regs.Stream {
	if len(list) == 0 {
		return p
	}
	s := *p
	s.Modify = func(f *regs.File) error {
		if p.Modify != nil {
			if err := p.Modify(f); err != nil {
				return err
			}
		}
		for _, o := range list {
			if err := o.Apply(f); err != nil {
				return fmt.Errorf("override %v: %w", o, err)
			}
		}
		return nil
	}
	return &s
}
