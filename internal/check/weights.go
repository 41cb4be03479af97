package check

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/x448/float16"

	"anesim"
	"anesim/firmware"
	"anesim/hw/dma"
	"anesim/hw/regs"
	"anesim/loader"
)

// Constants holds the constant data that one descriptor reads. Parts has the weights of each lane
// of the engine, followed by any source tensors that are constant. It shares memory with the
// program.
type Constants struct {
	Parts  [][]byte
	Halves bool // all parts are plain fp16 numbers, not packed or palettised
}

// ConstantsOf returns the constants that each descriptor of the result r reads, in the same order
// as Entry.Descriptors. The constants are empty if a program was built without its weights.
// ConstantsOf returns an error if a program cannot be linked or a descriptor cannot be decoded.
func ConstantsOf(r *anesim.Result) ([]Constants, error) {
	var list []Constants
	for k := range r.Programs {
		p := &r.Programs[k]
		if p.Report == nil {
			continue
		}
		each, err := collectConstants(p.Program, r.Options.Overrides)
		if err != nil {
			return nil, err
		}
		for i := range p.Report.Descriptors {
			if d := &p.Report.Descriptors[i]; d.Index < len(each) {
				list = append(list, each[d.Index])
			}
		}
	}
	return list, nil
}

// collectConstants returns the constants that each descriptor of p reads. The register changes in
// set are applied to every descriptor first.
func collectConstants(p *loader.Program, set []firmware.Override) ([]Constants, error) {
	linked, err := p.LinkStream(nil)
	if err != nil {
		return nil, err
	}
	var list []Constants
	for t, err := range firmware.WithOverrides(&linked.Stream, set).Tasks(new(regs.File)) {
		if err != nil {
			return nil, err
		}
		g := &t.Groups
		c := Constants{Halves: g.NE.KernelCfg.KernelFmt() == regs.FormatFP16 && !g.NE.KernelCfg.PalEn() && !g.NE.KernelCfg.Sparse()}
		add := func(addr, n uint64) {
			if s := linked.Segment(addr, n); s != nil && addr-s.Addr+n <= uint64(len(s.Data)) {
				c.Parts = append(c.Parts, s.Data[addr-s.Addr:][:n])
			}
		}
		if h := t.Header.KernelBases; h.KBE0() && int(h.KBase0()) == p.WeightsBAR() {
			for _, l := range dma.Lanes(g, t.Bases.Kernel) {
				if l.On {
					add(l.Addr, uint64(l.Size))
				}
			}
		}
		b := t.Header.Bases
		if s := &t.Operands.Source1; s.DRAM && b.RBase0() == regs.BARWeights {
			// Constants of a planar task are fp16, unless the task has weights too, whose form is then
			// unknown for the whole.
			c.Halves = c.Halves || len(c.Parts) == 0
			low, high := s.Extent()
			add(t.Bases.Source1+uint64(low), uint64(high-low))
		}
		if s := &t.Operands.Source2; s.DRAM && b.RBase1() == regs.BARWeights {
			c.Halves = c.Halves || len(c.Parts) == 0
			low, high := s.Extent()
			add(t.Bases.Source2+uint64(low), uint64(high-low))
		}
		list = append(list, c)
	}
	return list, nil
}

// A ConstantsChange counts the bytes and values that differ between the constants of two
// descriptors.
type ConstantsChange struct {
	Bytes, OfBytes   int // bytes that differ, and bytes of the longer side
	Values, OfValues int // likewise in fp16 values; OfValues is 0 for other formats
	// A and B are the bytes of each side.
	A, B int
	// Largest is the largest difference between two finite values.
	Largest float64
}

// Changed reports whether at least one byte differs.
func (c *ConstantsChange) Changed() bool { return c.Bytes > 0 }

// MostCompared is the largest number of bytes of constants that are compared for two programs. It
// bounds the time, because many descriptors may read the same constants.
const MostCompared = 1 << 32

// Compare counts the differences between c and o, part by part. A byte that only one of them has
// counts as different. To limit the work, Compare first subtracts the sizes of c and o in bytes
// from *budget. If the result is negative, it compares nothing and returns known = false.
func (c *Constants) Compare(o *Constants, budget *int64) (d ConstantsChange, known bool) {
	halves := c.Halves && o.Halves
	for _, b := range c.Parts {
		d.A += len(b)
	}
	for _, b := range o.Parts {
		d.B += len(b)
	}
	*budget -= int64(d.A) + int64(d.B)
	if *budget < 0 {
		return d, false
	}
	for i := range max(len(c.Parts), len(o.Parts)) {
		var a, b []byte
		if i < len(c.Parts) {
			a = c.Parts[i]
		}
		if i < len(o.Parts) {
			b = o.Parts[i]
		}
		d.countDifferences(a, b, halves)
	}
	return d, true
}

// countDifferences adds the number of bytes in which a and b differ to d. If halves is true, it
// also compares the two as fp16 values.
func (d *ConstantsChange) countDifferences(a, b []byte, halves bool) {
	if len(a) > len(b) {
		a, b = b, a
	}
	d.OfBytes += len(b)
	if halves {
		d.OfValues += len(b) / 2
	}
	if bytes.Equal(a, b) {
		return
	}
	d.Bytes += len(b) - len(a)
	for i := range a {
		if a[i] != b[i] {
			d.Bytes++
		}
	}
	if !halves {
		return
	}
	d.Values += (len(b) - len(a)) / 2
	for i := 0; i+1 < len(a); i += 2 {
		x, y := binary.LittleEndian.Uint16(a[i:]), binary.LittleEndian.Uint16(b[i:])
		if x == y {
			continue
		}
		d.Values++
		far := math.Abs(float64(float16.Frombits(x).Float32()) - float64(float16.Frombits(y).Float32()))
		// A difference to NaN or infinity has no size; it still counts as one.
		if !math.IsNaN(far) && !math.IsInf(far, 0) {
			d.Largest = max(d.Largest, far)
		}
	}
}
