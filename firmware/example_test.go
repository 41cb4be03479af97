package firmware_test

import (
	"fmt"
	"strings"

	"anesim/firmware"
	"anesim/hw/clock"
	"anesim/hw/regs"
)

// A printer is a device that prints its calls.
type printer struct{}

func (printer) SetTileEnables(mask uint32) { fmt.Printf("tiles %#08x\n", mask) }

func (printer) Execute(t *regs.Task) bool {
	fmt.Printf("task %d: %v on %v\n", t.Index, t.Groups.PE.Cfg.OpMode(), t.Groups.InShape())
	return false
}

// A descriptor that adds two vectors of 64 channels, run as a multiplication.
func ExampleController_Run() {
	add := regs.Descriptor{Records: []regs.Record{
		{Addr: 0x0000, Values: []uint32{0x0001_0001, 1, 0x2a, 64, 64, 0x0001_0001}},
		{Addr: 0x8800, Values: []uint32{0x80000}},
	}}
	c := firmware.New(firmware.Known())
	mul, err := firmware.ParseOverride("PE.Cfg.OpMode=1")
	if err != nil {
		fmt.Println(err)
		return
	}
	c.Overrides = append(c.Overrides, mul)
	n, err := c.Run(&regs.Stream{Text: add.Append(nil)}, printer{})
	fmt.Println(n, err)
	// Output:
	// tiles 0xffffffff
	// task 0: mul on {1 64 1 1 1}
	// 1 <nil>
}

func ExampleController_GateTiles() {
	c := firmware.New(firmware.Known())
	tiles, err := firmware.ParseTiles("0-7,9")
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := c.GateTiles(tiles); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%#08x\n", c.TileEnables())
	// Output: 0xfffffd00
}

func ExampleReadInitCSV() {
	_, err := firmware.ReadInitCSV(strings.NewReader(`block,offset,mask,value
ANE,0xd014,1,1
ANE,0xd014,1,0
`))
	fmt.Println(err)
	// Output: init table line 3 record 1 (ANE): changes bits 0x1 of the word at 0x26bc0d014 from 0x1 to 0x0, which an earlier record set
}

func ExampleParseOverride() {
	_, err := firmware.ParseOverride("PE.Cfg.OpMod=1")
	fmt.Println(err)
	// Output: override "PE.Cfg.OpMod=1": register PE.Cfg has no field "OpMod"; did you mean OpMode?
}

// Calls of one cluster's work after idle gaps, with the times of the M1.
func ExamplePower() {
	const ms clock.Nanoseconds = 1e6
	p := firmware.Power{Times: firmware.PowerTimes{
		WakeGap: 100 * ms, WakeTime: 0.5 * ms, ColdGap: 5000 * ms, ColdWake: 260 * ms, RailsOff: 100 * ms,
	}}
	p.Wake(firmware.DomainsOf(firmware.Cluster0))
	for _, gap := range []clock.Nanoseconds{0, 20 * ms, 150 * ms, 6000 * ms} {
		waiting := p.Idle(gap)
		up := p.Up()
		fmt.Printf("gap %v: waiting %v, up: %v, wake %v\n", gap, waiting, up, p.Wake(firmware.DomainsOf(firmware.Cluster0)))
	}
	// Output:
	// gap 0.0 ns: waiting 0.0 ns, up: base, cluster 0, wake 0.0 ns
	// gap 20.000 ms: waiting 20.000 ms, up: base, cluster 0, wake 100.000 us
	// gap 150.000 ms: waiting 100.000 ms, up: none, wake 500.000 us
	// gap 6.000 s: waiting 100.000 ms, up: none, wake 260.000 ms
}
