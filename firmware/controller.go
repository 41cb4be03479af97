package firmware

import (
	"fmt"

	"anesim/hw/clock"
	"anesim/hw/regs"
)

// A Device executes tasks.
type Device interface {
	// SetTileEnables says which tiles compute: bit 2e+h is half h of engine e.
	SetTileEnables(mask uint32)
	// Execute runs one task to its end. The task is lent to it and changes once it
	// returns. It returns true when the device cannot go on; the device keeps the
	// fault.
	Execute(t *regs.Task) (halt bool)
}

// A Controller is the processor beside the engine: it applies the init table and walks
// chains of descriptors.
type Controller struct {
	// Overrides are applied to the task registers after each descriptor's records, as
	// if the descriptor had written them.
	Overrides []Override
	// PowerTimes are what idle gaps cost; see Idle.
	PowerTimes PowerTimes
	// Ungated brings every cluster up with the base: dynamic gating is off.
	Ungated bool

	table  *InitTable
	mmio   MMIO
	power  Power
	woke   clock.Nanoseconds // what the last Run's wake took
	booted bool
}

// New returns a controller at reset that will apply the table.
func New(table *InitTable) *Controller { return &Controller{table: table} }

// Boot resets the MMIO words and the power domains and applies the init table in order.
// A table that cannot be applied is an *InitError and leaves the controller at reset.
func (c *Controller) Boot() error {
	c.mmio, c.power, c.booted = MMIO{}, Power{}, false
	if err := c.table.Check(); err != nil {
		return err
	}
	for _, r := range c.table.Records {
		b, _ := BlockNamed(r.Block)
		c.mmio.write(b.Base+uint64(r.Offset), r.bits(), r.Value)
	}
	c.booted = true
	return nil
}

func (c *Controller) start() error {
	if c.booted {
		return nil
	}
	return c.Boot()
}

// MMIO returns the controller's register space.
func (c *Controller) MMIO() *MMIO { return &c.mmio }

// TileEnables reads the tile enable words: bit 2e+h is half h of engine e.
func (c *Controller) TileEnables() uint32 {
	var mask uint32
	for tile := range Tiles {
		mask |= c.mmio.words[baseANE+uint64(tileEnable(tile))] & 1 << tile
	}
	return mask
}

// GateTiles clears the enables of the tiles in mask, a what-if after init: it boots
// the controller if that was not done, so that the init table does not undo it. See
// ParseTiles. An error is an *InitError from Boot.
func (c *Controller) GateTiles(mask uint32) error {
	if err := c.start(); err != nil {
		return err
	}
	for tile := range Tiles {
		if mask>>tile&1 != 0 {
			c.mmio.write(baseANE+uint64(tileEnable(tile)), 1, 0)
		}
	}
	return nil
}

// Run boots the controller if that was not done, wakes the base domain, tells the device
// which tiles compute, and executes the chain task by task until it ends or the device
// halts; a task's clusters are powered before it. It returns the number of tasks executed.
//
// A chain that cannot be walked is an error that wraps a *regs.StreamError naming the
// descriptor; the tasks before it were executed. What the device finds wrong is no
// error here.
func (c *Controller) Run(p *regs.Stream, d Device) (int, error) {
	x, err := c.Pass(p, untimed{d})
	if err != nil {
		return 0, err
	}
	c.woke = c.Wake(0)
	for more := true; more; {
		_, more = x.Run()
	}
	return x.Tasks, x.Err
}

// An untimed device does not say how much time it has used.
type untimed struct{ Device }

// Elapsed returns 0.
func (untimed) Elapsed() clock.Nanoseconds { return 0 }

// Overridden returns a stream that is p with overrides after what p itself modifies.
func Overridden(p *regs.Stream, list []Override) *regs.Stream {
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
