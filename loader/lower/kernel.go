package lower

import (
	"encoding/binary"
	"github.com/x448/float16"

	"anesim/hw/regs"
)

// A kernel is the coefficients of one task as its lanes hold them, from the task's start
// in the constant section; sizes are multiples of 64.
type kernel struct {
	data   []byte
	lanes  []lane
	sparse bool
}

type lane struct{ base, size uint32 }

// A filter gives the coefficients of a task's output channels: tap k of channel n of
// group g, and its bias.
type filter struct {
	groups, channels, taps int
	weight                 func(g, n, k int) float16.Float16
	bias                   func(g, n int) float16.Float16 // nil without
}

// pack lays the filter out in planes of up to width channels, dealt to the lanes in turn:
//
//	lane 0: [bias row][tap 0: w halves][tap 1] ...   plane 0, plane 16, ...
//	lane 1: [bias row][tap 0: w halves][tap 1] ...   plane 1, plane 17, ...
//
// w is width, or what the channels that are left give each of the sixteen lanes: 224
// channels make planes of 14, 768 planes of 32 and then 16 where width is 32. The last
// fifteen or fewer take a lane each. Groups follow each other, each padded to 64 bytes.
// (Every section hash on record, the 14 among them.)
func (f *filter) pack(width int) *kernel {
	k := new(kernel)
	perLane := make([][]byte, engines)
	used := 0
	for g := range f.groups {
		for first := 0; first < f.channels; {
			rest := f.channels - first
			w, planes := 1, rest
			if rest >= engines {
				w = min(width, rest/engines)
				planes = rest / (engines * w) * engines
			}
			for i := range planes {
				perLane[i%engines] = f.plane(perLane[i%engines], g, first, w)
				first += w
			}
			used = max(used, min(planes, engines))
		}
		if f.groups > 1 {
			for i := range perLane {
				perLane[i] = pad64(perLane[i])
			}
		}
	}
	for _, b := range perLane[:used] {
		k.lane(b)
	}
	return k
}

// plane appends w channels from first on, side by side.
func (f *filter) plane(dst []byte, g, first, w int) []byte {
	if f.bias != nil {
		for n := range w {
			dst = appendHalf(dst, f.bias(g, first+n))
		}
	}
	for k := range f.taps {
		for n := range w {
			dst = appendHalf(dst, f.weight(g, first+n, k))
		}
	}
	return dst
}

func appendHalf(dst []byte, h float16.Float16) []byte {
	return binary.LittleEndian.AppendUint16(dst, uint16(h))
}

// pad64 pads to a multiple of 64 bytes.
func pad64(b []byte) []byte {
	return append(b, make([]byte, -len(b)&63)...)
}

// lane appends a lane.
func (k *kernel) lane(b []byte) {
	base := len(k.data)
	k.data = append(k.data, pad64(b)...)
	k.lanes = append(k.lanes, lane{uint32(base), uint32(len(k.data) - base)})
}

// attach puts a kernel into the constant section and its lanes into the task.
func (p *plan) attach(t *task, k *kernel) {
	base := uint32(len(p.constants))
	p.constants = append(p.constants, k.data...)
	t.kernel(base, k.lanes)
	if k.sparse {
		t.g.KernelDMASrc.Reserved00 |= sparseWord
		t.g.NE.KernelCfg = t.g.NE.KernelCfg.WithSparse(true)
	}
}

// kernel turns lanes on, base bytes into the constants. Lanes that are off keep a
// buffer of 64 bytes.
func (t *task) kernel(base uint32, lanes []lane) {
	d := &t.g.KernelDMASrc
	d.Reserved00 = kernelWord
	for i := range d.CoeffBfrSize {
		d.CoeffBfrSize[i] = d.CoeffBfrSize[i].WithBytes(64)
	}
	for i, l := range lanes {
		d.CoeffDMAConfig[i] = d.CoeffDMAConfig[i].WithEn(true)
		d.CoeffBaseAddr[i] = d.CoeffBaseAddr[i].WithBytes(base + l.base)
		d.CoeffBfrSize[i] = d.CoeffBfrSize[i].WithBytes(l.size)
	}
	t.h.KernelBases = t.h.KernelBases.WithKBase0(regs.BARWeights).WithKBE0(true)
}

// lookup gives the engines an activation table, base bytes into the constants. Every
// engine at work reads the same 128 bytes (6/6), one engine for all in a task that reads
// an earlier tile (2/2).
func (t *task) lookup(base uint32, table []byte) {
	lanes := make([]lane, 1<<t.g.Common.Cfg.ActiveNE())
	if t.dependent() {
		lanes = lanes[:1]
	}
	for i := range lanes {
		lanes[i].size = tableBytes
	}
	t.kernel(base, lanes)
	t.table = table
	t.activate(regs.ActivationTable)
}

const (
	tableBytes = 128
	// tableSection is what a program with one table has for constants (7/7).
	tableSection = 2048
)
