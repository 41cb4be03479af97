package engine

import (
	"maps"

	"anesim/hw"
	"anesim/hw/regs"
	"anesim/loader"
)

// Link links program p as [Session.Load] does. The tasks of the result's Stream have their
// WindowTaps, which Link counts in the weights that the program has as constants.
func Link(p *loader.Program) (*loader.Linked, error) {
	var counted map[int]regs.WindowTaps
	k, err := p.LinkStream(func(k *loader.Linked, t *regs.Task) {
		n := hw.NeededTaps(t, func(addr, n uint64) []byte { return constants(k, addr, n) })
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
	return k, err
}

// constants returns the n bytes at addr, or nil if they are not known when the program is linked:
// if a task or a call can write them, or if the program was made without them.
func constants(k *loader.Linked, addr, n uint64) []byte {
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
