package firmware

import "testing"

// Arming takes the control word from 0 to 0x3fff and leaves the rest of the table alone; a
// boot disarms.
func TestArmPeakPower(t *testing.T) {
	c := New(Known())
	if err := c.Boot(); err != nil {
		t.Fatal(err)
	}
	if v, err := c.MMIO().Load(ppControl); err != nil || v != 0 || c.PeakPowerArmed() {
		t.Errorf("before: %#x, armed %t (%v)", v, c.PeakPowerArmed(), err)
	}
	if err := c.ArmPeakPower(); err != nil {
		t.Fatal(err)
	}
	for address, want := range map[uint64]uint32{
		0x2_6b8f_0000: 0x11, 0x2_6b8f_0004: 1, 0x2_6b8f_4000: 0xd, 0x2_6b8e_c42c: 0x3fff, 0x2_6b8e_c5dc: 0xf,
		0x2_6b8e_c000: 0x267e, 0x2_6b8f_0014: 0x23e1,
	} {
		if got, err := c.MMIO().Load(address); err != nil || got != want {
			t.Errorf("%#x holds %#x, want %#x (%v)", address, got, want, err)
		}
	}
	if !c.PeakPowerArmed() {
		t.Error("not armed")
	}
	if err := c.Boot(); err != nil || c.PeakPowerArmed() {
		t.Errorf("armed after a boot (%v)", err)
	}
}
