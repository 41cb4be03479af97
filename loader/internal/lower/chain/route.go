package chain

import (
	"anesim/hw/regs"
	"anesim/loader/internal/lower/task"
)

// setWaitBits sets the dependency bits in the L2 words of task i. other is the last task on the
// other engine, starts says whether task i starts a run, and waited is the last task of the other
// engine that this engine has waited for. The rules reproduce the bits of all 104 descriptors:
//
//   - The first task waits for everything.
//   - A task that reads no tile of another task waits for its own engine if it starts a run, and for the
//     last task of the other engine if their tiles overlap.
//   - A task that reads the tile of another task waits for the owner of that tile. Its result
//     needs no bits, because it is written later.
//
// Only tasks that the engine has not yet waited for count: the previous task of its own engine,
// and tasks of the other engine after waited. The bits for older tasks are clear (seen in 11 of
// 11 tasks).
func (p *program) setWaitBits(i int, other *task.Task, starts bool, waited *int) {
	t := &p.steps[i]
	l := &t.g.L2
	if i == 0 {
		l.SourceCfg = l.SourceCfg.WithAConvSrc(true).WithAConvRslt(true).WithAPlnrSrc(true).WithAPlnrRslt(true)
		l.ResultCfg = l.ResultCfg.WithAConvSrc(true).WithAConvRslt(true).WithAPlnrSrc(true).WithAPlnrRslt(true)
		return
	}
	if l.SourceCfg.Type() == task.TypeRing {
		return // it overlaps with the task that fills the ring (seen in 9 of 9 tasks)
	}
	if t.LoadsFirst() && t.Second == nil { // no tile of an earlier task
		l.SourceCfg = t.addWaitBits(l.SourceCfg, t.First, other, starts)
		l.ResultCfg = t.addWaitBits(l.ResultCfg, t.Result, other, starts)
		return
	}
	if t.WaitsForPairs {
		l.SourceCfg = l.SourceCfg.WithDep_or_BfrMode(1) // replaces the bits below (seen in 1 of 1 tasks)
		return
	}
	source, result := t.LoadsFirst() && other != nil && t.First.Overlaps(other.First), false
	ownResult := false
	linked := task.IsLinked(p.tasks, i)
	if other != nil && p.index[other] > *waited {
		t.waitForStaging(other)
	}
	last := *waited
	for j, operand := range [...]*task.Tile{t.First, t.Second} {
		if operand == nil || operand.Owner == t.Task {
			continue
		}
		from := p.index[operand.Owner]
		if operand.Owner.Planar() == t.Planar() {
			ownResult = ownResult || operand.Result && p.isPreviousResult(from, i) && !(linked && j == 0)
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
	if linked && t.Pixels && t.Planar() && p.tasks[i-1].Planar() {
		linked, ownResult = false, true // each planar task waits for the one before (seen in 1 of 1 tasks)
	}
	if t.Pixels && task.SharesSecondPatch(p.tasks, i) {
		l.SourceCfg = l.SourceCfg.WithSrc2Waits(secondLinked)
		ownResult = false
	}
	if linked {
		mode := uint32(linkedEngine)
		if p.tasks[i-1].Planar() {
			mode = linkedPlanar
		} else if t.Planar() {
			ownResult = ownResult || !t.Pixels && p.overlapsPlanarResult(t.First) // the MAC engines have waited for it (2 of 2 tasks)
		}
		l.SourceCfg = l.SourceCfg.WithDep_or_BfrMode(mode)
	}
	if t.Planar() {
		l.SourceCfg = l.SourceCfg.WithAConvSrc(source).WithAConvRslt(result).WithAPlnrRslt(ownResult)
	} else {
		l.SourceCfg = l.SourceCfg.WithAPlnrSrc(source).WithAPlnrRslt(result).WithAConvRslt(ownResult)
	}
}

// isPreviousResult reports whether task i, on the same engine as task from, waits for its result: if it
// is the task before, or in a pixel chain if it is the last one of this engine (seen in 3 of 3 tasks).
func (p *program) isPreviousResult(from, i int) bool {
	switch t := p.tasks[i]; {
	case !t.Pixels:
		return from == i-1
	case t.Planar():
		return p.lastPlanar == p.tasks[from]
	default:
		return p.lastEngine == p.tasks[from]
	}
}

// waitForStaging makes a staged result wait for the other engine if that engine's last result
// overlaps with its tile (seen in 1 of 1 tasks).
func (t *step) waitForStaging(other *task.Task) {
	r := &t.g.L2.ResultCfg
	switch {
	case !t.Staged || !t.Result.Overlaps(other.Result):
	case t.Planar():
		*r = r.WithAConvRslt(true)
	default:
		*r = r.WithAPlnrRslt(true)
	}
}

// addWaitBits returns r with the dependency bits that an access to the given tile needs. The access
// waits for the sources and the result of other, the last task of the other engine, where they
// overlap with the tile. If own is set, the access also waits for all earlier work of the task's
// own engine.
func (t *step) addWaitBits(r regs.L2Route, tile *task.Tile, other *task.Task, own bool) regs.L2Route {
	source := other != nil && (tile.Overlaps(other.First) || other.Second != nil && tile.Overlaps(other.Second))
	result := other != nil && tile.Overlaps(other.Result)
	if t.Planar() {
		return r.WithAPlnrSrc(own).WithAPlnrRslt(own).WithAConvSrc(source).WithAConvRslt(result)
	}
	return r.WithAConvSrc(own).WithAConvRslt(own).WithAPlnrSrc(source).WithAPlnrRslt(result)
}

// Engines that produce a source tile by tile (seen in 67 of 68 tasks).
const (
	linkedEngine = 1 // the MAC engines
	linkedPlanar = 2 // the planar engine
)

// secondLinked is the value of Src2Waits in L2.SourceCfg of a task whose second source the planar
// engine produces tile by tile (seen in 1 of 1 tasks).
const secondLinked = 1

// recordPlanarResult adds the result of t to p.planarResults if t is a planar task and leaves its
// result in L2.
func (p *program) recordPlanarResult(t *task.Task) {
	if t.Planar() && t.Result != nil && !t.IsInMemory(task.OperandResult) {
		p.planarResults[l2Range{t.Result.At.Base, t.Result.Bytes}] = t.Result
	}
}

// overlapsPlanarResult reports whether a planar task before the previous task left a result in L2
// that overlaps with the tile.
func (p *program) overlapsPlanarResult(tile *task.Tile) bool {
	for _, result := range p.planarResults {
		if result.Overlaps(tile) {
			return true
		}
	}
	return false
}
