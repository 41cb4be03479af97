package firmware

import (
	"fmt"

	"anesim/hw/clock"
	"anesim/hw/regs"
)

// A Device executes tasks.
type Device interface {
	// SetTileEnables selects the tiles that compute. Bit 2e+h is half h of engine e.
	SetTileEnables(mask uint32)
	// Execute runs one task to its end. It must not keep t, which changes after the call.
	// It returns true if the device cannot continue because of a fault, which the device
	// records.
	Execute(t *regs.Task) (halt bool)
}

// A Controller models the processor that controls the engine. It applies the init table and
// feeds chains of descriptors to the engine.
type Controller struct {
	// Overrides are written to the task registers after the records of each descriptor, as
	// if the descriptor contained them.
	Overrides []Override
	// PowerTimes determines the cost of idle gaps. See Idle.
	PowerTimes PowerTimes
	// Ungated disables dynamic gating: every cluster is powered up with the base.
	Ungated bool

	table    *InitTable
	mmio     MMIO
	power    Power
	wakeTime clock.Nanoseconds // time of the wake in the last Run
	booted   bool
}

// New returns a controller in the reset state that will apply the given table.
func New(table *InitTable) *Controller { return &Controller{table: table} }

// Boot resets the MMIO words and the power domains and applies the init table in order. If
// the table is invalid, Boot returns an *InitError and leaves the controller in the reset
// state.
func (c *Controller) Boot() error {
	c.mmio, c.power, c.booted = MMIO{}, Power{}, false
	if err := c.table.Check(); err != nil {
		return err
	}
	for _, r := range c.table.Records {
		b, _ := BlockNamed(r.Block)
		c.mmio.write(b.Base+uint64(r.Offset), r.affectedBits(), r.Value)
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

// MMIO returns the controller's register space.
func (c *Controller) MMIO() *MMIO { return &c.mmio }

// TileEnables returns the mask of enabled tiles from the tile enable words. Bit 2e+h is
// half h of engine e.
func (c *Controller) TileEnables() uint32 {
	var mask uint32
	for tile := range Tiles {
		mask |= c.mmio.words[baseANE+uint64(tileEnableOffset(tile))] & 1 << tile
	}
	return mask
}

// GateTiles clears the enables of the tiles in mask, to explore the effect of fewer tiles.
// It boots the controller first if necessary, so that the init table does not undo the
// change. It returns an *InitError from Boot.
func (c *Controller) GateTiles(mask uint32) error {
	if err := c.ensureBooted(); err != nil {
		return err
	}
	for tile := range Tiles {
		if mask>>tile&1 != 0 {
			c.mmio.write(baseANE+uint64(tileEnableOffset(tile)), 1, 0)
		}
	}
	return nil
}

// Run executes a chain on the device until it ends or the device halts. It boots the
// controller if necessary, wakes the base domain and sets the device's tile enables. It
// powers the clusters that a task needs before the task. It returns the number of executed
// tasks.
//
// If the chain is invalid, Run executes the tasks before the error and returns an error
// that wraps a *regs.StreamError. Faults of the device are not errors.
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

// Elapsed returns 0.
func (untimed) Elapsed() clock.Nanoseconds { return 0 }

// WithOverrides returns a copy of p that applies the overrides after p's own Modify. It
// returns p itself if there are none.
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
