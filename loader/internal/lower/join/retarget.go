package join

import (
	"anesim/loader/internal/lower/place"
	"anesim/loader/internal/lower/task"
)

// retargetTasks changes the tasks of a step so that they read and write resident tensors in L2
// instead of memory. It adds shift to the L2 addresses of their other operands.
func (j *joiner) retargetTasks(step int, tasks []*task.Task, kept map[access]*resident, shift int) {
	r := retargeter{
		j: j, step: step, plan: j.steps[step].part.output.Tasks, tasks: tasks, kept: kept,
		moved: map[*task.Tile]bool{}, gone: map[*task.Tile]bool{},
	}
	for k := range tasks {
		if kept[access{step, k, task.Operand1}] != nil && r.plan[k].First != nil {
			r.gone[r.plan[k].First] = true
		}
		if shift != 0 {
			r.moveTiles(k, shift)
		}
		for _, which := range [...]task.Operand{task.Operand1, task.Operand2, task.OperandResult} {
			r.useResident(k, which)
		}
	}
	for k, t := range tasks {
		if _, rest := kept[access{step, k, task.Operand1}]; rest && !t.LoadsFirst() && !t.IsInMemory(task.Operand2) {
			t.SetFullTileHeight()
		}
	}
}

// A retargeter changes the tasks of one step.
type retargeter struct {
	j     *joiner
	step  int
	plan  []*task.Task // as lowered, with all tensors in memory
	tasks []*task.Task // the tasks to change, in the order of plan
	kept  map[access]*resident
	moved map[*task.Tile]bool // tiles of tasks that have their final address
	gone  map[*task.Tile]bool // tiles of plan that a resident replaces
}

// moveTiles adds shift to the L2 addresses of the operands of task k, leaving out residents.
func (r *retargeter) moveTiles(k, shift int) {
	t := r.tasks[k]
	for which := range task.OperandResult + 1 {
		none := which == task.Operand2 && t.Second == nil && !t.IsInMemory(task.Operand2)
		if !none && r.kept[access{r.step, k, which}] == nil && !r.gone[r.plan[k].Source(which)] {
			t.Shift(which, shift)
		}
	}
	for _, tl := range [...]*task.Tile{t.First, t.Second, t.Result} {
		if tl != nil && tl.Owner != nil && !r.moved[tl] {
			r.moved[tl] = true
			tl.At.Base += shift
		}
	}
}

// useResident makes task k access the given operand in L2 if that operand is a resident; otherwise
// it does nothing. If task k loads a tile for later tasks of the step, they read the resident too.
func (r *retargeter) useResident(k int, operand task.Operand) {
	a, t := access{r.step, k, operand}, r.tasks[k]
	in := r.kept[a]
	if in == nil {
		return
	}
	at, _ := in.locateOperand(r.plan[k], operand)
	at.Base += in.extent.Base
	if in.lastStep != r.step {
		in.lastStep, in.before = r.step, in.tile
	}
	if in.tile == nil {
		in.tile = &task.Tile{At: in.layout.Rebase(in.extent.Base), Bytes: in.extent.Bytes, Result: true}
	}
	// The sources of a step are as earlier steps left them. A step that writes a part of a concatenation
	// that others have begun, and perhaps reads it, has a tile of its own behind theirs.
	tile := in.tile
	if in.before != nil {
		if tile = in.before; operand == task.OperandResult {
			if in.tile == in.before {
				in.tile = &task.Tile{At: in.tile.At, Bytes: in.tile.Bytes, Result: true, Previous: in.before}
			}
			tile = in.tile
		}
	}
	if len(in.loads) > 1 && in.isLoadedBy(a) {
		// Other steps wait for the last load: the parts follow each other, and the whole follows the last.
		tile = &task.Tile{At: at, Bytes: in.extent.Bytes / len(in.loads), Owner: t}
		tile.Previous, in.tile.Previous = in.tile.Previous, tile
	}
	r.moved[in.tile], r.moved[tile] = true, true // already at the address of the resident
	if operand == task.Operand1 {
		r.j.visitReaders(a, func(i int, _ *place.Layout) bool {
			if later := r.tasks[i]; r.plan[i].First == r.plan[k].First {
				later.ReplaceSource1(at, tile)
			} else {
				later.ReplaceSource2(at, tile)
			}
			return true
		})
	}
	switch {
	case in.isLoadedBy(a):
		in.tile.Owner, in.tile.Result = t, false
		t.KeepSource(at, tile)
		next := in.accesses[len(in.loads)]
		if t.IsPassThrough() && r.j.steps[next.step].part.output.Tasks[next.task].Planar() {
			t.SetPatch(task.KeptPatch(t.InShape()))
		}
	case operand == task.Operand1:
		t.ReplaceSource1(at, tile)
	case operand == task.Operand2:
		t.ReplaceSource2(at, tile)
	default:
		tile.Owner = t
		t.ReplaceResult(at, tile)
	}
}
