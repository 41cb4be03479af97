package firmware

// Words that arm peak-power control, in the order in which they are written (decompiled).
const (
	ppSystem  = 0x2_6b8f_0000
	ppMode    = ppSystem + 4
	ppLeakage = 0x2_6b8f_4000
	ppControl = 0x2_6b8e_c42c
	ppEngines = 0x2_6b8e_c5dc

	ppArmed = 0x3fff
)

// ArmPeakPower starts the firmware's peak-power control by writing its five registers. It does not
// set a power budget, which is an option of the device, because the unit of the registers is
// unknown. ArmPeakPower boots the controller first if necessary and returns the *[InitError] of
// [Controller.Boot] if that fails.
func (c *Controller) ArmPeakPower() error {
	if err := c.ensureBooted(); err != nil {
		return err
	}
	const all = 1<<32 - 1
	c.mmio.writeMasked(ppSystem, all, 0x11)
	c.mmio.writeMasked(ppMode, all, 1)
	c.mmio.writeMasked(ppLeakage, 1, 1)
	c.mmio.writeMasked(ppControl, ppArmed, ppArmed)
	c.mmio.writeMasked(ppEngines, 0xf, 0xf)
	return nil
}

// PeakPowerArmed reports whether peak-power control is active.
func (c *Controller) PeakPowerArmed() bool { return c.mmio.words[ppControl]&ppArmed == ppArmed }
