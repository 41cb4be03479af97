package engine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"anesim/firmware"
	"anesim/hw"
	"anesim/hw/dma"
	"anesim/loader"
)

// pageSize is the unit of device memory that programs and buffers are aligned to.
const pageSize = loader.PageSize

// A Session models an engine with its memory. Programs are loaded into the memory once and called
// many times. The firmware boots once, and the power domains keep their state between calls. The
// outputs of one call can be inputs of the next without a copy.
//
// A Session must not be used by several goroutines at once.
type Session struct {
	options  Options
	mem      *dma.Memory
	used     uint64
	ctl      *firmware.Controller
	spans    []addressRange // ranges in use, sorted by address
	reserved []addressRange // buffers that Reserve took
	holder   *Call          // call that used the engine last, if it is still in progress
	loaded   []*Loaded
	saved    uint64 // bytes not copied between host and device
}

// An addressRange is the range of device addresses from lo up to, but not including, hi.
type addressRange struct{ lo, hi uint64 }

// A NoMemoryError reports that the session has less free memory than a program or a buffer
// needs.
type NoMemoryError struct {
	What               string
	Need, Free, Memory uint64 // bytes
}

func (e *NoMemoryError) Error() string {
	return fmt.Sprintf("%s needs %d bytes of device memory, but only %d of %d are free", e.What, e.Need, e.Free, e.Memory)
}

// New starts an engine with options o. It returns an *[OptionError] if an option is invalid, or a
// *[firmware.InitError] if o.Init is invalid.
func New(o Options) (*Session, error) {
	o, err := o.WithDefaults()
	if err != nil {
		return nil, err
	}
	init := o.Init
	if init == nil {
		init = firmware.Known()
	}
	ctl := firmware.New(init)
	ctl.Overrides = o.Overrides
	if err := ctl.GateTiles(o.GateTiles); err != nil {
		return nil, err
	}
	if o.PowerBudget > 0 {
		if err := ctl.ArmPeakPower(); err != nil {
			return nil, err
		}
	}
	ctl.PowerTimes, ctl.Ungated = o.PowerTimes(), o.Power.Ungated
	ctl.Wake(firmware.DomainsOf(firmware.Base)) // as if an earlier call had just ended
	return &Session{options: o, mem: new(dma.Memory), ctl: ctl}, nil
}

// Options returns the options of the session, with the defaults filled in.
func (s *Session) Options() *Options { return &s.options }

// Controller returns the model of the engine's firmware.
func (s *Session) Controller() *firmware.Controller { return s.ctl }

// Override replaces the list of register overrides for calls that start later.
func (s *Session) Override(list []firmware.Override) {
	s.options.Overrides, s.ctl.Overrides = list, list
}

// SetChip replaces the constants of the engine's chip. It returns an *[OptionError] if a
// constant is out of range.
func (s *Session) SetChip(c hw.Chip) error {
	if err := checkChip(&c); err != nil {
		return err
	}
	s.options.Chip = c
	s.ctl.PowerTimes = s.options.PowerTimes()
	return nil
}

// SetPower replaces the power policy. A budget in watts, as in Options.PowerBudget, applies to calls that
// start later; 0 means no limit. SetPower returns an *[OptionError] if the budget or the policy is out
// of range.
func (s *Session) SetPower(p firmware.PowerPolicy, budget float64) error {
	o := s.options
	o.Power, o.PowerBudget = p, budget
	if p.AlwaysOn {
		o.Power.Hysteresis = 0 // it has no effect
	}
	o, err := o.WithDefaults()
	if err != nil {
		return err
	}
	if budget > 0 {
		if err := s.ctl.ArmPeakPower(); err != nil {
			return err
		}
	}
	s.options = o
	s.ctl.PowerTimes, s.ctl.Ungated = o.PowerTimes(), o.Power.Ungated
	return nil
}

// Used returns the number of bytes of memory that programs and buffers occupy.
func (s *Session) Used() uint64 { return s.used }

// Load places a program in memory and sets the run-time parameters in Options.Bind. The program
// keeps the addresses for which it was linked if they are free. Otherwise, it moves to the lowest
// free addresses above them. Load returns a *[NoMemoryError] if memory is short, an error of
// linking the program, or any error from [Loaded.Bind].
func (s *Session) Load(p *loader.Program) (*Loaded, error) {
	whole, need := addressRange{lo: ^uint64(0)}, uint64(0)
	for i := range p.Segments {
		if seg := &p.Segments[i]; seg.Size > 0 && seg.Prot != 0 {
			whole = addressRange{min(whole.lo, seg.Addr), max(whole.hi, seg.End())}
			need += seg.Size
		}
	}
	// First the size, which no address can mend, then an address, which depends on what else is loaded.
	if free := s.options.Memory - min(s.used, s.options.Memory); need > free {
		return nil, &NoMemoryError{"program " + p.Name, need, free, s.options.Memory}
	}
	l := &Loaded{session: s, linked: make(map[bindings]*loader.Linked)}
	slide := uint64(0)
	if whole.lo < whole.hi {
		l.span = s.findFreeRange(whole)
		slide = l.span.lo - whole.lo
	}
	l.program = relocateProgram(p, slide)
	// A program that cannot be linked must not take memory, so it is linked before its segments are added.
	if _, err := l.linkProgram(); err != nil {
		return nil, err
	}
	if end := s.options.AddressEnd; end > 0 && l.span.hi > end {
		return nil, &NoMemoryError{"program " + p.Name, need, s.countFreeBelow(whole.lo, end), end - whole.lo}
	}
	for i := range l.program.Segments {
		seg := &l.program.Segments[i]
		if err := s.mem.Add(dma.Segment{Name: seg.String(), Addr: seg.Addr, Size: seg.Size, Data: seg.Data}); err != nil {
			l.removeSegments(i)
			return nil, err
		}
	}
	s.markRangeTaken(l.span)
	l.own = l.program.Segments
	s.loaded = append(s.loaded, l)
	l.bytes = need
	s.used += need
	// In the order of names, so that of several wrong values the same one is reported each time.
	for _, name := range slices.Sorted(maps.Keys(s.options.Bind)) {
		if err := l.Bind(name, s.options.Bind[name]); err != nil {
			l.Unload()
			return nil, err
		}
	}
	return l, nil
}

// findFreeRange returns the lowest free range of addresses that is as long as want, starts at or
// above its start, and has the same offset in a page.
func (s *Session) findFreeRange(want addressRange) addressRange {
	at := want.lo
	for _, r := range s.spans {
		if at+(want.hi-want.lo) <= r.lo {
			break
		}
		if r.hi > at {
			at = want.lo + (r.hi-want.lo+pageSize-1)/pageSize*pageSize
		}
	}
	return addressRange{at, at + (want.hi - want.lo)}
}

// countFreeBelow returns the number of free bytes from address low up to end.
func (s *Session) countFreeBelow(low, end uint64) uint64 {
	free := end - min(low, end)
	for _, r := range s.spans {
		if lo, hi := max(r.lo, low), min(r.hi, end); lo < hi {
			free -= hi - lo
		}
	}
	return free
}

// markRangeTaken adds r to the sorted list of the address ranges in use.
func (s *Session) markRangeTaken(r addressRange) {
	i, _ := slices.BinarySearchFunc(s.spans, r, func(a, b addressRange) int { return cmp.Compare(a.lo, b.lo) })
	s.spans = slices.Insert(s.spans, i, r)
}

// markRangeFree removes r from the list of the address ranges in use. It does nothing if the list
// does not contain r.
func (s *Session) markRangeFree(r addressRange) {
	if i := slices.Index(s.spans, r); i >= 0 {
		s.spans = slices.Delete(s.spans, i, i+1)
	}
}

// relocateProgram returns a copy of p with all addresses increased by offset bytes. It drops guard
// segments, which have no memory. The descriptors do not change, because they refer to buffers by
// index.
func relocateProgram(p *loader.Program, offset uint64) *loader.Program {
	q := *p
	q.Segments, q.Ports = nil, slices.Clone(p.Ports)
	for _, s := range p.Segments {
		if s.Size > 0 && s.Prot != 0 {
			s.Addr += offset
			q.Segments = append(q.Segments, s)
		}
	}
	for i := range q.Ports {
		q.Ports[i].Address += offset
	}
	for i, a := range q.BARs {
		if a != 0 {
			q.BARs[i] = a + offset
		}
	}
	q.TextAddr += offset
	return &q
}
