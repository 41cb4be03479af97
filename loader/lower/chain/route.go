package chain

import (
	"anesim/hw/regs"
	"anesim/loader/lower/task"
)

// route writes the dependency bits of the L2 words. The first task waits for everything.
// One that stands by itself waits for what its own engine did before, which it does not
// inside a run, and for the last task of the other where they share memory. A task that
// reads an earlier tile names what the tile was instead, and its result needs nothing: it
// comes after. other is the last task on the other engine. (104/104)
//
// Of earlier tasks only those count that the engine has not waited for yet: of its own the
// one just before, of the other those after the last it waited for. (Further back the
// bits are clear: 11/11.)
func (p *program) route(i int, other *task.Task, starts bool, waited *int) {
	t := &p.steps[i]
	l := &t.g.L2
	if i == 0 {
		l.SourceCfg = l.SourceCfg.WithAConvSrc(true).WithAConvRslt(true).WithAPlnrSrc(true).WithAPlnrRslt(true)
		l.ResultCfg = l.ResultCfg.WithAConvSrc(true).WithAConvRslt(true).WithAPlnrSrc(true).WithAPlnrRslt(true)
		return
	}
	if l.SourceCfg.Type() == task.TypeRing {
		return // it runs beside the task that fills the ring (9/9)
	}
	if t.LoadsFirst() && t.Second == nil { // nothing of an earlier task
		l.SourceCfg = t.addWaits(l.SourceCfg, t.First, other, starts)
		l.ResultCfg = t.addWaits(l.ResultCfg, t.Result, other, starts)
		return
	}
	if t.WaitsForPairs {
		l.SourceCfg = l.SourceCfg.WithDep_or_BfrMode(1) // in place of the bits below (1/1)
		return
	}
	source, result := t.LoadsFirst() && other != nil && t.First.Overlaps(other.First), false
	ownResult := false
	linked := task.IsLinked(p.tasks, i)
	if other != nil && p.index[other] > *waited {
		t.routeStaged(other)
	}
	last := *waited
	for j, operand := range [...]*task.Tile{t.First, t.Second} {
		if operand == nil || operand.Owner == t.Task {
			continue
		}
		from := p.index[operand.Owner]
		if operand.Owner.Planar() == t.Planar() {
			ownResult = ownResult || operand.Result && from == i-1 && !(linked && j == 0)
			continue
		}
		last = max(last, from)
		if from <= *waited || linked && j == 0 {
			continue
		}
		result = result || operand.Result
		source = source || !operand.Result
	}
	*waited = last
	if linked {
		mode := uint32(linkedEngine)
		if p.tasks[i-1].Planar() {
			mode = linkedPlanar
		} else if t.Planar() {
			ownResult = ownResult || overlapsPlanarResult(p.tasks[:i-1], t.First)
		}
		l.SourceCfg = l.SourceCfg.WithDep_or_BfrMode(mode)
	}
	if t.Planar() {
		l.SourceCfg = l.SourceCfg.WithAConvSrc(source).WithAConvRslt(result).WithAPlnrRslt(ownResult)
	} else {
		l.SourceCfg = l.SourceCfg.WithAPlnrSrc(source).WithAPlnrRslt(result).WithAConvRslt(ownResult)
	}
}

// routeStaged makes the tile of a result on its way to memory wait for what the other engine still
// writes in its place (1/1).
func (t *step) routeStaged(other *task.Task) {
	r := &t.g.L2.ResultCfg
	switch {
	case !t.Staged || !t.Result.Overlaps(other.Result):
	case t.Planar():
		*r = r.WithAConvRslt(true)
	default:
		*r = r.WithAPlnrRslt(true)
	}
}

// waits marks what a tile has to wait for: what the other engine's last task has in its place
// and, where own says so, all that its own engine did.
func (t *step) addWaits(r regs.L2Route, tile *task.Tile, other *task.Task, own bool) regs.L2Route {
	source := other != nil && tile.Overlaps(other.First)
	result := other != nil && tile.Overlaps(other.Result)
	if t.Planar() {
		return r.WithAPlnrSrc(own).WithAPlnrRslt(own).WithAConvSrc(source).WithAConvRslt(result)
	}
	return r.WithAConvSrc(own).WithAConvRslt(own).WithAPlnrSrc(source).WithAPlnrRslt(result)
}

// What a source is taken from tile by tile (67/68).
const (
	linkedEngine = 1 // the MAC engines
	linkedPlanar = 2
)

// planarResult reports whether a planar task's result stood where a tile stands.
func overlapsPlanarResult(tasks []*task.Task, tile *task.Tile) bool {
	for _, t := range tasks {
		if t.Planar() && t.Result != nil && !t.IsInMemory(task.OperandResult) && t.Result.Overlaps(tile) {
			return true
		}
	}
	return false
}
