package machine

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"anesim"
	"anesim/firmware"
	"anesim/firmware/engine"
	"anesim/hw"
	"anesim/hw/clock"
	"anesim/internal/scripts"
)

// TestPowerMethodsAreTheFlags checks that the driver's power methods give the wall time and the
// energies that the options of a run give.
func TestPowerMethodsAreTheFlags(t *testing.T) {
	m1 := hw.M1()
	active := m1.ActivePower.Value
	for _, tc := range []struct {
		methods string // of a client, with their arguments
		policy  firmware.PowerPolicy
		percent float64 // of full power, 0 for no limit
	}{
		{"", firmware.PowerPolicy{}, 0},
		{"ANE_SetPowerGatingHysteresisTime 10", firmware.PowerPolicy{Hysteresis: 10e6}, 0},
		{"ANE_SetPowerManagement 0", firmware.PowerPolicy{AlwaysOn: true}, 0},
		{"ANE_SetPowerManagement 0/ANE_SetPowerManagement 1", firmware.PowerPolicy{}, 0},
		{"ANE_SetDynamicPowerGating 0/ANE_SetPowerManagement 0", firmware.PowerPolicy{AlwaysOn: true, Ungated: true}, 0},
		{"ANE_SetThrottlingPercentage 40", firmware.PowerPolicy{}, 40},
		{"ANE_SetThrottlingPercentage 40/ANE_SetThrottlingPercentage 100", firmware.PowerPolicy{}, 0},
	} {
		o := anesim.Options{Repeat: 3, Idle: 60 * time.Millisecond, Power: tc.policy}
		if tc.percent > 0 {
			o.PowerBudget = active + (engine.FullPower(&m1)-active)*(tc.percent/100)
		}
		m, err := anesim.Layer("conv", "cin=64", "h=28", "w=28", "cout=64", "k=3", "pad=same")
		if err != nil {
			t.Fatal(err)
		}
		res, err := m.Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		text := "option values=off\nmodel m layer conv cin=64 h=28 w=28 cout=64 k=3 pad=same\nclient a rights=user-access\ncall a ANE_DeviceOpen\nsend control BOOT\ncall a ANE_ProgramCreate model=m\ncall a ANE_ProgramPrepare program=1\n"
		for call := range strings.SplitSeq(tc.methods, "/") {
			if call != "" {
				text += "raw a " + call + "\nexpect Success\n"
			}
		}
		text += strings.Repeat("wait 60ms\ncall a ANE_ProgramSendRequest program=1\nexpect Success\n", 3)
		s, err := ReadScript([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		x, err := s.Play(t.Context(), &out, scripts.Models{Open: noFile})
		if err != nil {
			t.Fatalf("%s: %v", tc.methods, err)
		}
		// The flags: all dispatches after their gaps.
		wall, idle, wake, waiting := clock.Nanoseconds(0), clock.Nanojoules(0), clock.Nanoseconds(0), res.Waiting()
		for d := range res.Dispatches() {
			wall += d.Idle + d.Wake
			idle += waiting(d.Engines(), d.Waiting)
			wake += d.Wake
		}
		wall += res.Report.Time
		p := &x.engine.power
		if math.Abs(float64(x.Now()-wall)) > 1 || math.Abs(float64(p.wake-wake)) > 1e-6 || p.idle != 180e6 {
			t.Errorf("%q: %v in all, %v of wakes, idle for %v; with flags %v and %v", tc.methods, x.Now(), p.wake, p.idle, wall, wake)
		}
		if math.Abs(float64(p.idleEnergy-idle)) > 1e-6*float64(idle) {
			t.Errorf("%q: %v while idle, with flags %v", tc.methods, p.idleEnergy, idle)
		}
		last, err := x.Result(0)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := float64(last.Report.Energy), float64(res.Report.Energy)/3; math.Abs(got-want) > 1e-9*want {
			t.Errorf("%q: a call takes %v nJ, with flags %v", tc.methods, got, want)
		}
		if got := fmt.Sprintf("idle: %v, %v; wake: %v, ", p.idle, p.idleEnergy, p.wake); !strings.Contains(out.String(), got) {
			t.Errorf("no %q in\n%s", got, &out)
		}
	}
}

// Values out of range are refused, and so are registers in no block.
func TestRefusedPowerValues(t *testing.T) {
	text := "client a rights=user-access privileged\ncall a ANE_DeviceOpen\n"
	for _, call := range []string{
		"ANE_SetPowerManagement 2", "ANE_SetPowerManagement", "ANE_SetDynamicPowerGating 2", "ANE_SetPowerGatingHysteresisTime 0", "ANE_SetPowerGatingHysteresisTime 0x100000000",
		"ANE_SetThrottlingPercentage 0", "ANE_SetThrottlingPercentage 101", "ANE_SetThrottlingPercentage 0x4000000000000000",
		"ANE_ReadANERegister 0x1000", "ANE_WriteANERegister 0x1000 1", "ANE_ReadANERegister 0x26affffffc", "ANE_ReadANERegister 0x26c000000", "ANE_ReadANERegister 0x26bc00002",
	} {
		text += "raw a " + call + "\nexpect BadArgument\n"
	}
	script(t, text+"raw a ANE_ReadANERegister 0x26b000000\nexpect Success\nraw a ANE_WriteANERegister 0x26bfffffc 1\nexpect Success\n")
}
