package chain

import (
	"slices"

	"anesim/hw/execycles"
	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/internal/lower/place"
	"anesim/loader/internal/lower/task"
)

// Finish2023 is like [Finish] for Apple's compiler of 2023. Every descriptor has all weight
// registers. They are 0 for tasks of the planar engine. passed says whether [PassThroughScratch]
// was called for the tasks.
func Finish2023(tasks []*task.Task, passed bool, target execycles.Target) []*regs.Descriptor {
	p := newProgram(tasks)
	p.target = target
	for i := range p.steps {
		t := &p.steps[i]
		k := &t.g.KernelDMASrc
		clear(k.CoeffTail[8:12])
		if t.Planar() {
			*k = regs.KernelDMASrc{}
			// A planar task has all weight registers cleared except for the two bits that say which of its
			// neighbours are planar.
			sides := t.g.NE.KernelCfg
			t.g.NE.MACCfg = regs.MACCfg{}
			t.g.NE.KernelCfg = regs.KernelCfg{}.WithPreviousPlanar(sides.PreviousPlanar()).WithNextPlanar(sides.NextPlanar())
			if t.g.Source1On() {
				t.g.TileDMASrc.Reserved16 = regs.Word{}
			}
		}
	}
	var out []*regs.Descriptor
	if passed {
		out = p.linkDescriptors(p.findRuns2023(), p.setWaitBits2023)
	} else {
		out = p.linkDescriptors(p.findRuns(), nil)
	}
	// Finish leaves out weight registers that do not change. This compiler writes the whole group, first,
	// in every descriptor.
	for i, d := range out {
		k := p.steps[i].g.KernelDMASrc.Words()
		first := d.Records[0].Addr
		d.Records = slices.DeleteFunc(d.Records, func(r regs.Record) bool {
			return r.Addr >= first && r.Addr < first+uint32(4*len(k))
		})
		d.Records = append([]regs.Record{{Addr: first, Values: k[:]}}, d.Records...)
		d.Words = regs.HeaderWords
		if d.Extended {
			d.Words++
		}
		for _, r := range d.Records {
			d.Words += 1 + len(r.Values)
		}
	}
	// The sizes of the descriptors have changed, and with them the offsets that link the chain.
	out = loader.Sequence(out...)
	for i, d := range out {
		d.Header.Control = d.Header.Control.WithDisallowAbort(false)
		events := uint32(0x400)
		if i == len(out)-1 {
			events |= 0x22
		}
		d.Header.LogEvents = d.Header.LogEvents.WithLogEvents(events)
	}
	return out
}

// findRuns2023 returns a bool for every task, and one for the end of the chain, that says whether a
// run starts there. The runs are those of [program.findRuns], except that a task whose predecessor
// starts a run joins that run instead of starting one (seen in 3 of 3 programs). The run of the
// first task is not extended like this.
func (p *program) findRuns2023() []bool {
	starts := p.findRuns()
	for i := 2; i < len(p.tasks); i++ {
		if starts[i] && starts[i-1] {
			starts[i] = false
		}
	}
	return starts
}

// setWaitBits2023 sets the dependency bits of task i, which is not the first. A task that starts a
// run waits for the MAC engines, and for the last result of the planar engine if it overlaps with
// the tile that is loaded (seen in 6 of 6 tasks). Within a run, a task waits for the other
// engine's last task if their tiles overlap, and for the owners of the tiles that it reads.
func (p *program) setWaitBits2023(i int, starts bool) {
	t, l := p.tasks[i], &p.steps[i].g.L2
	// The two tasks of a ring run at the same time: the reader must not wait for the end of the writer.
	if l.SourceCfg.Type() == task.TypeRing {
		return
	}
	planar, engine := p.lastPlanar, p.lastEngine
	if starts {
		l.SourceCfg = l.SourceCfg.WithAConvSrc(true).WithAConvRslt(true)
		l.ResultCfg = l.ResultCfg.WithAConvSrc(true).WithAConvRslt(true)
		if planar != nil {
			l.SourceCfg = l.SourceCfg.WithAPlnrRslt(loadDestination(t).Overlaps(planar.Result))
		}
		return
	}
	own, other := engine, planar
	if t.Planar() {
		own, other = planar, engine
	}
	var otherSource, otherResult, ownResult bool
	for _, at := range [...]*task.Tile{t.First, t.Second} {
		if at == nil {
			continue
		}
		if at.Owner != t && at.Owner != nil {
			// Tasks of one engine run in order, so only the task right before can still be writing when
			// this one starts.
			ownResult = ownResult || at.Owner == own && at.Result && p.index[at.Owner] == i-1
			otherResult = otherResult || at.Owner == other && at.Result
		}
	}
	if other != nil && (t.LoadsFirst() || t.IsInMemory(task.Operand2)) {
		otherSource = other.LoadsFirst() && loadDestination(t).Overlaps(loadDestination(other))
		otherResult = otherResult || loadDestination(t).Overlaps(other.Result)
	}
	s := l.SourceCfg
	if t.Planar() {
		s = s.WithAPlnrRslt(ownResult).WithAConvSrc(otherSource).WithAConvRslt(otherResult)
	} else {
		s = s.WithAConvRslt(ownResult).WithAPlnrSrc(otherSource).WithAPlnrRslt(otherResult)
	}
	l.SourceCfg = s
}

// loadDestination returns the tile in L2 into which t loads a source from memory: the tile of the
// first source, or that of the second source if the first is already in L2.
func loadDestination(t *task.Task) *task.Tile {
	which := task.Operand2
	if t.LoadsFirst() {
		which = task.Operand1
	}
	at := t.L2Layout(which)
	return &task.Tile{At: place.Layout{Base: at.Base}, Bytes: at.Row * t.TileHeight()}
}
