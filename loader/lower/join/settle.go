package join

import (
	"anesim/loader/lower/place"
	"anesim/loader/lower/task"
)

// settle makes the tasks of a step, which are placed in memory, work on what is resident,
// and moves their other tiles.
func (j *joiner) settle(step int, tasks []*task.Task, kept map[access]*resident, shift int) {
	plan := j.steps[step].part.made.Tasks
	moved, gone := map[*task.Tile]bool{}, map[*task.Tile]bool{}
	for k, t := range tasks {
		if kept[access{step, k, task.Operand1}] != nil && plan[k].First != nil {
			gone[plan[k].First] = true
		}
		if shift != 0 {
			for which := range task.OperandResult + 1 {
				none := which == task.Operand2 && t.Second == nil && !t.IsInMemory(task.Operand2)
				if !none && kept[access{step, k, which}] == nil && !gone[plan[k].Source(which)] {
					t.Shift(which, shift)
				}
			}
			for _, tl := range [...]*task.Tile{t.First, t.Second, t.Result} {
				if tl != nil && tl.Owner != nil && !moved[tl] {
					moved[tl] = true
					tl.At.Base += shift
				}
			}
		}
		for _, which := range [...]task.Operand{task.Operand1, task.Operand2, task.OperandResult} {
			a := access{step, k, which}
			r := kept[a]
			if r == nil {
				continue
			}
			at, _ := r.view(plan[k], which)
			at.Base += r.extent.Base
			if r.tile == nil {
				r.tile = &task.Tile{At: r.at.WithBase(r.extent.Base), Bytes: r.extent.Bytes, Result: true}
			}
			tile := r.tile
			if len(r.loads) > 1 && r.loadedBy(a) { // others wait for the last
				tile = &task.Tile{At: at, Bytes: r.extent.Bytes / len(r.loads), Owner: t}
			}
			if which == task.Operand1 {
				j.followers(a, func(i int, _ *place.Layout) bool {
					later := tasks[i]
					if plan[i].First == plan[k].First {
						later.ReplaceSource1(at, tile)
					} else {
						later.ReplaceSource2(at, tile)
					}
					return true
				})
			}
			switch {
			case r.loadedBy(a):
				r.tile.Owner, r.tile.Result = t, false
				t.KeepSource(at, tile)
				next := r.accesses[len(r.loads)]
				if t.IsPassThrough() && j.steps[next.step].part.made.Tasks[next.task].Planar() {
					t.SetPatch(task.KeptPatch(t.InShape()))
				}
			case which == task.Operand1:
				t.ReplaceSource1(at, r.tile)
			case which == task.Operand2:
				t.ReplaceSource2(at, r.tile)
			default:
				r.tile.Owner = t
				t.ReplaceResult(at, r.tile)
			}
		}
	}
	for k, t := range tasks {
		if _, rest := kept[access{step, k, task.Operand1}]; rest && !t.LoadsFirst() && !t.IsInMemory(task.Operand2) {
			t.SetFullTileHeight()
		}
	}
}
