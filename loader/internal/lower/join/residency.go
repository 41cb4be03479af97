package join

import (
	"cmp"
	"slices"

	"anesim/hw/regs"
	"anesim/loader/internal/lower/place"
	"anesim/loader/internal/lower/task"
	"anesim/loader/layer"
)

// A tensor between layers stays in L2 if every task that writes or reads it can address it there
// and if it fits next to everything else that its steps need:
//
//	step   0        1        2        3
//	L2     |--- residual input -------|        longest lifetimes lowest
//	           |-- a --||-- b --|
//	       |tiles|  |tiles|  |tiles|  |tiles|  tiles of each step, above
//
// Strides in memory become strides in L2, so views, concatenations and channel splits need no
// copies. Tensors that do not fit go through the scratch buffer. Programs show this rule for chains
// of matmuls and elementwise operations. For convolutions it is inferred, because no program has
// two of them.

// An access is an operand of a task of a step that reads or writes a tensor in memory.
type access struct {
	step, task int
	which      task.Operand
}

// A resident is a tensor that stays in L2, or a candidate for that.
type resident struct {
	tensor   int
	accesses []access
	shape    layer.Shape
	fetches  []place.Fetch // accesses that find no bank conflicts if there is room for the skew
	layout   place.Layout
	byPlane  bool // planes follow each other as in memory; otherwise rows do
	extent   *place.Extent
	tile     *task.Tile
	// lastStep is the last step so far whose tasks use the tensor, or -1. before is the tile when that step
	// began: it differs from tile if the step writes a part of a tensor that others have begun.
	lastStep int
	before   *task.Tile
	// loads are the accesses that load an input of the network for later ones. Each loads a part
	// of it: one or more elements of the batch.
	loads []access
}

// findResidentCandidates returns the tensors that can stay in L2 between the steps: those that
// every task addresses with plain strides. Tensors that a task reads as weights are left out,
// because the engines load weights only from memory. Tensors of 8-bit elements are left out, because
// the one program with such tensors has them in memory.
func (j *joiner) findResidentCandidates() []*resident {
	return slices.DeleteFunc(j.findPlainTensors(), func(r *resident) bool {
		return j.tensors[r.tensor].input && !j.canKeepInput(r) || !j.chooseLayout(r)
	})
}

// findPlainTensors returns the tensors that no task reads as weights, and that have no 8-bit elements, with
// their accesses.
func (j *joiner) findPlainTensors() []*resident {
	list := make([]*resident, len(j.tensors))
	for i, t := range j.tensors {
		if !t.port || t.input {
			list[i] = &resident{tensor: i, shape: t.shape, lastStep: -1}
		}
	}
	for i := range j.steps {
		s := &j.steps[i]
		if s.part.Layer.Op.ElementBits() == 8 {
			list[s.output] = nil
			for _, in := range s.inputs {
				list[in] = nil
			}
			continue
		}
		for k := range s.part.output.Tasks {
			j.collectAccesses(list, i, k)
		}
	}
	var out []*resident
	for _, r := range list {
		if r != nil && len(r.accesses) > 0 {
			out = append(out, r)
		}
	}
	return out
}

// collectAccesses records which tensors a task reads and writes in memory: the task with the given
// index in the given step. list[i] is the candidate for tensor i to stay in L2, or nil. If the task
// reads a tensor as weights, or reads the result of its own step, collectAccesses sets the
// candidate of that tensor to nil.
func (j *joiner) collectAccesses(list []*resident, step, index int) {
	s := &j.steps[step]
	t := s.part.output.Tasks[index]
	for which := range task.OperandResult + 1 {
		if !t.IsInMemory(which) {
			continue
		}
		bar, at := t.Bar(which), -1
		if which == task.OperandResult {
			at = s.resultIn(bar)
		} else {
			// A step that reads its own result passes data between its tasks through it, in a layout that
			// only these tasks know.
			if own := s.resultIn(bar); own >= 0 {
				list[own] = nil
			}
			for n := range s.inputs {
				if uint32(s.part.inputs[n].BAR) == bar {
					at = s.inputs[n]
				}
			}
		}
		if at >= 0 && list[at] != nil {
			list[at].accesses = append(list[at].accesses, access{step, index, which})
		}
	}
	// Engines load weights only from memory.
	if bar, ok := t.KernelBar(); ok {
		for n := range s.inputs {
			if uint32(s.part.inputs[n].BAR) == bar {
				list[s.inputs[n]] = nil
			}
		}
		if own := s.resultIn(bar); own >= 0 {
			list[own] = nil
		}
	}
}

// resultIn returns the result of the step that its part has in buffer bar, or -1.
func (s *step) resultIn(bar uint32) int {
	switch k := int(bar) - int(s.part.outputBAR); {
	case k == 0:
		return s.output
	case k > 0 && k <= len(s.more):
		return s.more[k-1]
	}
	return -1
}

// canKeepInput reports whether the first step that reads input r can leave it in L2 for later
// steps, and sets r.loads. Each task of that step must load the whole input, or whole elements of
// its batch that no other task loads, without slices of columns. (Programs show this for 22 of 22
// later reads. That several tasks can load a batch is inferred, because no program has one.)
func (j *joiner) canKeepInput(r *resident) bool {
	loaded, next := 0, 0 // elements loaded so far, and the lowest address of the next ones
	r.loads = nil
	for i, a := range r.accesses {
		if loaded == r.shape.Elements() {
			return a.step != r.accesses[0].step
		}
		t := j.steps[a.step].part.output.Tasks[a.task]
		m, groups, _, _, _ := t.MemoryOf(a.which)
		if a.which != task.Operand1 || a.step != r.accesses[0].step || !t.LoadsWholeSource() || m.Base < next {
			return false
		}
		n := t.InShape().Elements()
		if loaded += n; loaded > r.shape.Elements() || loaded%(r.shape.Elements()/r.shape.N) != 0 {
			return false
		}
		// Parts do not overlap if each begins behind the last group of the one before.
		next = m.Base + max(1, groups*m.Group)
		r.loads = r.accesses[:i+1]
	}
	return false
}

// isLoadedBy reports whether a, an access of r, is one of the accesses that load r from memory. They are
// the first tasks that access r.
func (r *resident) isLoadedBy(a access) bool {
	n := len(r.loads)
	return n > 0 && a.which == task.Operand1 && a.step == r.loads[0].step && a.task <= r.loads[n-1].task
}

// chooseLayout sets the layout of r in L2 and reports whether all accesses can use it. It tries
// rows with all their channels first, and then planes with all their rows, which tasks that read
// the tensor in another shape need.
func (j *joiner) chooseLayout(r *resident) bool {
	s := r.shape
	// A row holds all channels of one element, so only planes can hold a batch.
	if s.N == 1 {
		// The readers must be able to use both the layout with which the placement begins, the compact one,
		// and the one that it takes where there is room (see avoidBankConflicts).
		fetches := j.conflictFreeFetches(r)
		if r.setRowLayout(fetches); j.canMapToL2(r) {
			r.fetches = fetches
		} else {
			r.fetches = compactFetches
		}
		if r.setRowLayout(compactFetches); j.canMapToL2(r) {
			return true
		}
	}
	row := layer.RoundUp(s.W*layer.ElementBytes, 16)
	r.layout = place.Layout{Channel: row * s.H, Row: row, Group: row * s.H * s.C}
	r.byPlane = true
	return j.canMapToL2(r)
}

// compactFetches are the accesses that find no bank conflicts in any tensor that is stored row by
// row. Where L2 has no room, rows are spaced for these alone and not for the other readers. Apple's
// compiler does the same with the rows of a source, if spacing them would leave fewer rows per tile
// (seen in 11 of 11 programs).
var compactFetches = []place.Fetch{place.PlanarFetch}

// setRowLayout gives r a layout of whole rows, spaced so that the given fetches cause no bank
// conflicts.
func (r *resident) setRowLayout(fetches []place.Fetch) {
	s := r.shape
	at := place.Packed(regs.Shape{Groups: 1, Channels: s.C, Height: s.H, Width: s.W})
	if s.H > 1 {
		at = at.Skew(fetches...)
	}
	at.Group = at.Row * s.H
	r.layout, r.byPlane = at, false
}

// compactLayout reduces the spacing between the rows of r to the minimum that the planar engine
// needs. It reports whether r now occupies fewer bytes.
func (r *resident) compactLayout() bool {
	before := r.bytes()
	if !r.byPlane {
		r.setRowLayout(compactFetches)
	}
	return r.bytes() < before
}

// conflictFreeFetches returns the fetches for which the layout of r must be free of bank conflicts.
// Tasks that read the tensor in another shape do not count, because their rows are not the rows of
// r.
func (j *joiner) conflictFreeFetches(r *resident) []place.Fetch {
	planar, readers := false, []*task.Task(nil)
	for _, a := range r.accesses {
		t := j.steps[a.step].part.output.Tasks[a.task]
		planar = planar || t.Planar()
		if in := t.InShape(); a.which == task.Operand1 && in.Height == r.shape.H && in.Width == r.shape.W {
			readers = append(readers, t)
		}
	}
	return task.TileFetches(planar, readers)
}

// bytes returns the number of bytes that the tensor occupies in L2, rounded up to a multiple of 64.
func (r *resident) bytes() int {
	n := r.layout.Group
	if r.byPlane {
		n *= r.shape.N
	}
	return layer.RoundUp(n, 64)
}

// l2Bytes returns the size in bytes of L2 for which the network is joined.
func (j *joiner) l2Bytes() int { return cmp.Or(j.net.Memories.L2, layer.MaxL2) }

// maxTileBytes returns the size in bytes of the largest tensor that L2 can hold.
func (j *joiner) maxTileBytes() int { return layer.LargestTile(j.l2Bytes()) }

// canMapToL2 reports whether r fits in L2 and all its accesses can address it there in its current
// layout.
func (j *joiner) canMapToL2(r *resident) bool {
	if r.bytes() > j.maxTileBytes() {
		return false
	}
	for _, a := range r.accesses {
		t := j.steps[a.step].part.output.Tasks[a.task]
		if _, ok := r.locateOperand(t, a.which); !ok {
			return false
		}
		if a.which != task.OperandResult && !j.visitReaders(a, func(int, *place.Layout) bool { return true }) {
			return false
		}
	}
	return true
}

// visitReaders calls visit for each later task of the same step that reads the tile that access a
// loads into L2. The arguments of visit are the index of that task and the layout that it uses.
// visitReaders returns false if visit does, or if a task reads the tile with other strides.
func (j *joiner) visitReaders(a access, visit func(k int, at *place.Layout) bool) bool {
	part := j.steps[a.step].part
	tasks := part.output.Tasks
	owner := tasks[a.task]
	if a.which != task.Operand1 || owner.First == nil || owner.First.Owner != owner {
		return true
	}
	own := owner.First.At
	in := owner.InShape()
	for _, reading := range j.findReaders(part)[owner.First] {
		if reading.task <= a.task {
			continue
		}
		t := tasks[reading.task]
		at := t.L2Layout(reading.which)
		if at.Base != own.Base || in.Channels > 1 && at.Channel != own.Channel || in.Height > 1 && at.Row != own.Row ||
			!task.HaveSameSource(t, owner) {
			return false
		}
		if !visit(reading.task, &at) {
			return false
		}
	}
	return true
}

// A reader is an operand of a task that reads a tile of its part.
type reader struct {
	task  int
	which task.Operand
}

// findReaders returns, for each tile, the tasks of part p that read it, in the order in which they
// run. It caches the result, because a part may have many tasks.
func (j *joiner) findReaders(p *Part) map[*task.Tile][]reader {
	if m, ok := j.readers[p]; ok {
		return m
	}
	m := map[*task.Tile][]reader{}
	for k, t := range p.output.Tasks {
		for which, tl := range [...]*task.Tile{t.First, t.Second} {
			if tl != nil {
				m[tl] = append(m[tl], reader{k, task.Operand(which)})
			}
		}
	}
	if j.readers == nil {
		j.readers = map[*Part]map[*task.Tile][]reader{}
	}
	j.readers[p] = m
	return m
}

// locateOperand returns the layout with which task t can access an operand in L2 if the operand is
// the resident r instead of a tensor in memory. It translates the operand's offset and strides in
// memory to those of r, and reports false if that is not possible.
func (r *resident) locateOperand(t *task.Task, operand task.Operand) (place.Layout, bool) {
	m, groups, planes, rows, plain := t.MemoryOf(operand)
	s := place.Surface(0, r.shape)
	width := t.InShape().Width
	if operand == task.OperandResult {
		if width = t.OutShape().Width; t.IsResultTransposed() {
			width = t.OutShape().Channels
		}
	}
	column := m.Base % s.Row
	if !plain || column%16 != 0 {
		return place.Layout{}, false
	}
	if r.byPlane && r.layout.Row == s.Row {
		// Rows without gaps are stored as in memory, so rows of any other length are too.
		at := place.Layout{Base: m.Base, Channel: m.Plane, Row: m.Row, Group: m.Group}
		return at.CompleteStrides(planes, rows, width)
	}
	tr := translation{r: r, surface: s, base: m.Base, inside: column + width*layer.ElementBytes, ok: true}
	if tr.inside > s.Row {
		return place.Layout{}, false
	}
	// Each call adds to the bytes of a row that the next ones find in use.
	at := place.Layout{Base: column}
	at.Channel = tr.translateStride(m.Plane, planes)
	at.Row = tr.translateStride(m.Row, rows)
	at.Group = tr.translateStride(m.Group, groups)
	if r.byPlane {
		at.Base += m.Base / s.Row * r.layout.Row
	} else {
		at.Base += m.Base/s.Plane*r.layout.Channel + m.Base%s.Plane/s.Row*r.layout.Row
		// If both rows and planes are runs of rows, they must stay inside one plane together.
		if m.Plane < s.Plane && m.Row < s.Plane &&
			(m.Base%s.Plane+(planes-1)*m.Plane+(rows-1)*m.Row) >= s.Plane {
			tr.ok = false
		}
	}
	// A task of a single plane has no stride between planes in memory. It gets the resident's, like the tasks
	// that read all of its planes. (Assumed: no program has such a part of a resident.)
	if at.Channel == 0 && planes <= 1 {
		at.Channel = r.layout.Channel
	}
	at, within := at.CompleteStrides(planes, rows, width)
	return at, tr.ok && within
}

// A translation translates strides in memory to strides in a resident's layout.
type translation struct {
	r       *resident
	surface place.Memory // the tensor in memory
	base    int          // offset of the operand in memory
	inside  int          // bytes of a row that the operand reaches
	ok      bool         // false after a stride that the layout does not have
}

// translateStride converts a stride in memory, in bytes, to the corresponding stride of the
// resident in L2. n is the number of elements along the axis; for n = 1 the result is 0. If the
// resident has no such stride, translateStride sets t.ok to false.
func (t *translation) translateStride(bytes, n int) int {
	r, s := t.r, &t.surface
	switch {
	case n <= 1 || bytes == 0:
		return 0
	case bytes%16 == 0 && t.inside+(n-1)*bytes <= s.Row: // pieces of a row
		t.inside += (n - 1) * bytes
		return bytes
	case bytes%s.Row != 0:
		t.ok = false
		return 0
	case r.byPlane:
		return bytes / s.Row * r.layout.Row
	case bytes%s.Plane == 0:
		return bytes / s.Plane * r.layout.Channel
	case (t.base%s.Plane+(n-1)*bytes)/s.Plane == 0:
		return bytes / s.Row * r.layout.Row
	}
	t.ok = false
	return 0
}

// stepTileRange returns the range of L2 addresses that the tasks of a step use for operands other
// than residents. The range is empty if all operands are residents.
func (j *joiner) stepTileRange(step int, kept map[access]*resident) (lo, hi int) {
	lo = j.l2Bytes()
	cover := func(base, bytes int) {
		lo, hi = min(lo, base), max(hi, base+bytes)
	}
	// A tile into which a task loads a resident is no longer needed, also for later tasks that read the
	// tile.
	gone := map[*task.Tile]bool{}
	for k, t := range j.steps[step].part.output.Tasks {
		result := t.L2Layout(task.OperandResult)
		if kept[access{step, k, task.Operand1}] != nil {
			if t.First != nil && t.First.Owner == t {
				gone[t.First] = true
			}
		} else if t.First == nil || !gone[t.First] {
			cover(t.L2Layout(task.Operand1).Base, t.TileBytes(task.Operand1))
		}
		if (t.Second != nil && !gone[t.Second]) || t.IsInMemory(task.Operand2) && kept[access{step, k, task.Operand2}] == nil {
			cover(t.L2Layout(task.Operand2).Base, t.TileBytes(task.Operand2))
		}
		switch {
		case kept[access{step, k, task.OperandResult}] != nil:
		case t.IsInMemory(task.OperandResult) && result.Channel == 0:
			// A result that passes straight to memory needs only the part of L2 that the largest tile
			// leaves, or less if it is small.
			cover(result.Base, min(j.l2Bytes()-j.maxTileBytes(), place.Packed(t.OutShape()).Row*t.OutShape().Height))
		default:
			cover(result.Base, t.ResultBytes())
		}
	}
	if hi == 0 {
		lo = 0
	}
	return lo &^ 63, min(j.l2Bytes(), layer.RoundUp(hi, 64))
}
