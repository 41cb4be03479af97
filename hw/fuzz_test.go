package hw

import (
	"encoding/binary"
	"testing"

	"anesim/hw/regs"
)

// words lists the byte address of every task register.
func words() (addrs []uint32) {
	for _, w := range regs.V7Windows() {
		for i := range w.Words {
			addrs = append(addrs, w.Base+4*uint32(i))
		}
	}
	return addrs
}

// fileOf is a register file with a task's words.
func fileOf(g *regs.Groups) *regs.File {
	k, c, s, l, p, n, d := g.KernelDMASrc.Words(), g.Common.Words(), g.TileDMASrc.Words(), g.L2.Words(), g.PE.Words(), g.NE.Words(), g.TileDMADst.Words()
	f := new(regs.File)
	for i, v := range [][]uint32{k[:], c[:], s[:], l[:], p[:], n[:], d[:]} {
		if err := f.Store(regs.V7Windows()[i].Base, v...); err != nil {
			panic(err) // the windows are the groups'
		}
	}
	return f
}

// FuzzExecute changes words of valid tasks: the input is pairs of a register's address and
// the bits to flip in it. The device must end without a panic, and an executed chain is
// complete or reports why it is not.
func FuzzExecute(f *testing.F) {
	flip := func(list ...uint32) (b []byte) {
		for _, v := range list {
			b = binary.LittleEndian.AppendUint32(b, v)
		}
		return b
	}
	f.Add(uint8(0), []byte{})
	f.Add(uint8(1), flip(62, 0x7fff))              // Win
	f.Add(uint8(2), flip(66, 0x1ffff))             // Cout
	f.Add(uint8(0), flip(69, 0xffff))              // ConvCfg
	f.Add(uint8(0), flip(71, 0x1fff))              // groups
	f.Add(uint8(3), flip(76, 0x770))               // planar form
	f.Add(uint8(0), flip(128, 0x100, 69, 0x14000)) // zero-skipping weights
	f.Add(uint8(0), flip(128, 0x84))               // a palette
	addrs := words()
	// Every planar form in every task, on shapes of one row too: forms give a task sources
	// that its registers do not describe.
	for form := uint32(0); form < 8; form++ {
		for which := uint8(0); which < 9; which++ {
			f.Add(which, flip(75, form<<4))
		}
	}
	f.Add(uint8(6), flip(79, 3<<16, 75, 6<<4)) // a second source from memory
	f.Add(uint8(3), flip(81, 1<<31))           // a stride below zero
	f.Add(uint8(3), flip(63, 3, 68, 3))        // a depth
	f.Add(uint8(3), flip(118, 3))              // a ring for a result
	f.Add(uint8(4), flip(64, 8))               // an 8-bit second source
	s := shape{4, 2, 2}
	flat := shape{4, 1, 2}
	second := newPlanar(regs.FormTwoSources, regs.PlanarAdd, s, s)
	secondFromMemory(second)
	base := []*regs.Task{
		newConv(shape{3, 4, 4}, shape{5, 4, 4}), newPass(s), newEngineTask(regs.MantissaTable, s, shape{1, 2, 2}),
		newPlanar(regs.FormConstant, regs.PlanarAdd, s, s), second, newPlanar(regs.FormReduction, regs.PlanarAdd, s, s),
		newPlanar(regs.FormTwoSources, regs.PlanarAdd, flat, flat), newPass(flat), newPlanar(regs.FormBiasScale, regs.PlanarAdd, flat, flat),
	}
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		task := *base[int(which)%len(base)]
		file := fileOf(&task.Groups)
		for ; len(data) >= 8; data = data[8:] {
			addr := addrs[binary.LittleEndian.Uint32(data)%uint32(len(addrs))]
			v, _ := file.Load(addr)
			if err := file.Store(addr, v^binary.LittleEndian.Uint32(data[4:])); err != nil {
				t.Fatal(err)
			}
		}
		file.Snapshot(&task.Groups)
		d := New(newMemory(t), Options{Chip: M1(), Values: true, Workers: 1, Budget: 1 << 18})
		halt := d.Execute(&task)
		r := d.Report()
		if halt != (len(r.Faults) == 1) || halt == (len(r.Descriptors) == 1) {
			t.Fatalf("halt %v with %d faults and %d descriptors", halt, len(r.Faults), len(r.Descriptors))
		}
		if !halt && r.Descriptors[0].Computed == (r.Descriptors[0].Note() != "") {
			t.Errorf("computed %v with the note %q", r.Descriptors[0].Computed, r.Descriptors[0].Note())
		}
		if halt && (r.Faults[0].Unit == "" || r.Faults[0].What == "") {
			t.Errorf("%+v", r.Faults[0])
		}
	})
}
