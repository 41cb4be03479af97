package chain

import (
	"math/rand/v2"
	"testing"

	"anesim/hw/regs"
	"anesim/loader/internal/lower/place"
	"anesim/loader/internal/lower/task"
)

// TestPlanarResultsOfLongChains links a chain of 2,000 planar tasks whose results lie in five
// ranges of L2. The linker must remember one result for each range, not one for each task:
// otherwise the time to link grows with the square of the number of tasks. A softmax of 16,384
// batch elements once took two minutes for that reason. The test also compares
// overlapsPlanarResult with a scan of all earlier tasks.
func TestPlanarResultsOfLongChains(t *testing.T) {
	const ranges = 5
	r := rand.New(rand.NewPCG(3, 4))
	shape := regs.Shape{Groups: 1, Channels: 1, Height: 1, Width: 32}
	tasks := make([]*task.Task, 2000)
	for i := range tasks {
		tasks[i] = task.Planar{Form: regs.FormTwoSources, In: shape}.Task()
		tasks[i].Result = &task.Tile{At: place.Layout{Base: 96 * r.IntN(ranges)}, Bytes: 64, Owner: tasks[i], Result: true}
	}
	p := newProgram(tasks)
	p.linkDescriptors(make([]bool, len(tasks)+1), func(i int, _ bool) {
		if i%100 != 0 && i > 8 {
			return
		}
		for base := 0; base < 96*ranges; base += 16 {
			tile, want := &task.Tile{At: place.Layout{Base: base}, Bytes: 16}, false
			for _, earlier := range tasks[:max(0, i-1)] {
				want = want || earlier.Result.Overlaps(tile)
			}
			if got := p.overlapsPlanarResult(tile); got != want {
				t.Fatalf("task %d, tile at %d: overlap %t; want %t", i, base, got, want)
			}
		}
	})
	if got := len(p.planarResults); got != ranges {
		t.Errorf("the linker remembers %d results of %d tasks; want %d, one for each range", got, len(tasks), ranges)
	}
}
