package firmware

// The words that arm peak-power control, in the order of the stores (decompiled).
const (
	ppSystem  = 0x2_6b8f_0000
	ppMode    = ppSystem + 4
	ppLeakage = 0x2_6b8f_4000
	ppControl = 0x2_6b8e_c42c
	ppEngines = 0x2_6b8e_c5dc

	ppArmed = 0x3fff
)

// ArmPeakPower makes the five stores that start peak-power control. It boots the controller
// if that was not done; an error is an *InitError from Boot. The words have no unit in the
// documents, so that the budget itself is the device's.
func (c *Controller) ArmPeakPower() error {
	if err := c.start(); err != nil {
		return err
	}
	const all = 1<<32 - 1
	c.mmio.write(ppSystem, all, 0x11)
	c.mmio.write(ppMode, all, 1)
	c.mmio.write(ppLeakage, 1, 1)
	c.mmio.write(ppControl, ppArmed, ppArmed)
	c.mmio.write(ppEngines, 0xf, 0xf)
	return nil
}

// PeakPowerArmed reports whether the control word says that peak-power control runs.
func (c *Controller) PeakPowerArmed() bool { return c.mmio.words[ppControl]&ppArmed == ppArmed }
