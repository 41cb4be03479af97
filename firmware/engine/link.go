package engine

import (
	"maps"

	"anesim/hw"
	"anesim/hw/execycles"
	"anesim/hw/regs"
	"anesim/loader"
)

// Link links program p in the same way as [Session.Load]. It also sets WindowTaps of the result's
// Stream: for each task with constant weights, how many taps of its window the weights need.
func Link(p *loader.Program) (*loader.Linked, error) {
	k, _, err := linkAndFindTarget(p)
	return k, err
}

// linkAndFindTarget links program p like [Link]. It also returns the target for which p was
// compiled according to its banner or, if that names none, to the estimates in its descriptors. The
// target is 0 if neither says it.
func linkAndFindTarget(p *loader.Program) (*loader.Linked, execycles.Target, error) {
	var finder targetFinder
	finder.found, _ = execycles.ParseTarget(p.Banner.Target) // 0 for a name that is not known
	var counted map[int]regs.WindowTaps
	c := newTapCounter(p)
	k, err := p.LinkStream(func(k *loader.Linked, t *regs.Task) {
		finder.visit(t)
		n := c.countTaps(k, t)
		if n == 0 {
			return
		}
		if counted == nil {
			counted = make(map[int]regs.WindowTaps)
			maps.Copy(counted, p.WindowTaps)
		}
		counted[t.Index] = regs.WindowTaps{Window: t.Groups.Common.ConvCfg, Taps: n}
	})
	if err == nil && counted != nil {
		k.Stream.WindowTaps = counted
	}
	return k, finder.found, err
}

// A tapCounter counts the taps that the tasks of a program need. It reads weights that several tasks
// have in common once, and in total at most four times the bytes of the program's segments, so that
// its time is in proportion to the program even if tasks have zeros at many overlapping places. Tasks
// whose weights it does not read need all taps.
type tapCounter struct {
	taps map[kernelKey]int
	left uint64 // bytes that may still be read
}

func newTapCounter(p *loader.Program) *tapCounter {
	c := &tapCounter{map[kernelKey]int{}, 1 << 20}
	for i := range p.Segments {
		c.left += 4 * uint64(len(p.Segments[i].Data))
	}
	return c
}

// countTaps returns the value of WindowTaps for task t of the linked program k.
func (c *tapCounter) countTaps(k *loader.Linked, t *regs.Task) int {
	if w := t.Groups.Common.ConvCfg; t.Groups.Planar() || w.Kh()*w.Kw() <= 1 {
		return 0
	}
	key := newKernelKey(t)
	n, ok := c.taps[key]
	if ok {
		return n
	}
	n = hw.NeededTaps(t, func(addr, size uint64) []byte {
		if size > c.left {
			return nil
		}
		b := findConstantBytes(k, addr, size)
		if b != nil {
			c.left -= size
		}
		return b
	})
	c.taps[key] = n
	return n
}

// A kernelKey holds all registers that decide where a task has its weights and in which form. It is
// equal for tasks that read the same weights.
type kernelKey struct {
	window  regs.ConvCfg
	groups  regs.GroupConvCfg
	cin     regs.Cin
	cout    regs.Cout
	out     regs.OutDim
	common  regs.CommonCfg
	kernel  regs.KernelCfg
	mac     regs.MACCfg
	lanes   regs.KernelDMASrc
	address uint64
}

func newKernelKey(t *regs.Task) kernelKey {
	c, ne := &t.Groups.Common, &t.Groups.NE
	return kernelKey{
		c.ConvCfg, c.GroupConvCfg, c.Cin, c.Cout, c.OutDim, c.Cfg,
		ne.KernelCfg, ne.MACCfg, t.Groups.KernelDMASrc, t.Bases.Kernel,
	}
}

// findConstantBytes returns the n bytes at addr, or nil if they are not known when the program is
// linked. They are unknown if a task or a call can write them, or if the program was made without
// them.
func findConstantBytes(k *loader.Linked, addr, n uint64) []byte {
	s := k.Segment(addr, n)
	if s == nil || s.Unmade || s.Data == nil || s.Prot&loader.ProtWrite != 0 {
		return nil
	}
	for i := range k.Program.Ports {
		if p := &k.Program.Ports[i]; p.Address < addr+n && addr < p.Address+p.Bytes {
			return nil
		}
	}
	from, have := addr-s.Addr, uint64(len(s.Data))
	if from+n <= have {
		return s.Data[from : from+n]
	}
	b := make([]byte, n) // a segment ends with zeros
	if from < have {
		copy(b, s.Data[from:])
	}
	return b
}
