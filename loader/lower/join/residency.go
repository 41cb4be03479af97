package join

import (
	"cmp"
	"slices"

	"anesim/hw/regs"
	"anesim/loader/layer"
	"anesim/loader/lower/place"
	"anesim/loader/lower/task"
)

// A tensor between layers stays in the L2 when every task that writes or reads it can
// address it there and it fits beside what its steps need:
//
//	step   0        1        2        3
//	L2     |--- residual input -------|        longest lifetimes lowest
//	           |-- a --||-- b --|
//	       |tiles|  |tiles|  |tiles|  |tiles|  what a step streams, above
//
// Strides of the surface in memory become strides of the tile, so views, concatenation
// and channel splits stay what they are. What does not fit goes through the scratch
// buffer. The rule is read from chains of matrix products and elementwise operations;
// that convolutions follow it is inferred, no program shows two of them.

// An access is a task of a step that reads or writes a tensor in memory.
type access struct {
	step, task int
	which      task.Operand
}

// A resident is a tensor that may stay in the L2.
type resident struct {
	tensor   int
	accesses []access
	shape    layer.Shape
	at       place.Layout
	flat     bool // planes one behind the other, as in memory; else rows
	extent   *place.Extent
	tile     *task.Tile
	// loads are the accesses that load an input of the network which later ones read, each a
	// part of it: an element of the batch.
	loads []access
}

// candidates are the tensors that every task addresses by plain strides. A tensor that a task
// reads as coefficients is none of them: kernel DMA reads memory, never the L2.
func (j *joiner) candidates() []*resident {
	list := make([]*resident, len(j.tensors))
	for i, t := range j.tensors {
		if !t.port || t.input {
			list[i] = &resident{tensor: i, shape: t.shape}
		}
	}
	for i := range j.steps {
		s := &j.steps[i]
		for k, t := range s.part.made.Tasks {
			note := func(bar uint32, which task.Operand) {
				at := -1
				if which == task.OperandResult {
					if bar == s.part.surface {
						at = s.output
					}
				} else {
					if bar == s.part.surface && list[s.output] != nil {
						list[s.output] = nil // read again by the layer that makes it
					}
					for n := range s.inputs {
						if uint32(s.part.inputs[n].BAR) == bar {
							at = s.inputs[n]
						}
					}
				}
				if at >= 0 && list[at] != nil {
					list[at].accesses = append(list[at].accesses, access{i, k, which})
				}
			}
			for which := range task.OperandResult + 1 {
				if t.IsInMemory(which) {
					note(t.Bar(which), which)
				}
			}
			if bar, ok := t.KernelBar(); ok {
				for n := range s.inputs {
					if uint32(s.part.inputs[n].BAR) == bar {
						list[s.inputs[n]] = nil
					}
				}
				if bar == s.part.surface {
					list[s.output] = nil
				}
			}
		}
	}
	var out []*resident
	for _, r := range list {
		if r == nil || j.tensors[r.tensor].input && !j.keeps(r) || !j.fits(r) {
			continue
		}
		out = append(out, r)
	}
	return out
}

// keeps reports whether an input's first reader can leave it in the L2 for others: its tasks
// take the whole of it, or each the whole of other elements of the batch, in no slices of
// columns. (0x171: 22/22 later reads. No program has a batch of several tasks: inferred.)
func (j *joiner) keeps(r *resident) bool {
	loaded, end := 0, 0 // elements, and where the last of them ends in memory
	r.loads = nil
	for i, a := range r.accesses {
		if loaded == r.shape.Elements() {
			return a.step != r.accesses[0].step
		}
		t := j.steps[a.step].part.made.Tasks[a.task]
		m, _, _, _, _ := t.MemoryOf(a.which)
		if a.which != task.Operand1 || a.step != r.accesses[0].step || !t.LoadsWholeSource() || m.Base < end {
			return false
		}
		n := t.InShape().Elements()
		if loaded += n; loaded > r.shape.Elements() || loaded%(r.shape.Elements()/r.shape.N) != 0 {
			return false
		}
		end = m.Base + 1
		r.loads = r.accesses[:i+1]
	}
	return false
}

// loadedBy reports whether an access is one that loads the tensor.
func (r *resident) loadedBy(a access) bool { return slices.Contains(r.loads, a) }

// fits chooses a tensor's layout in the L2, row by row or, where a task sees it in
// another shape, plane by plane.
func (j *joiner) fits(r *resident) bool {
	s := r.shape
	at := place.Packed(regs.Shape{Groups: 1, Channels: s.C, Height: s.H, Width: s.W})
	if s.H > 1 {
		at = at.Skew(1, place.PlanarFetch)
	}
	at.Group = at.Row * s.H
	r.at, r.flat = at, false
	if s.N == 1 && j.maps(r) {
		return true
	}
	row := layer.RoundUp(s.W*layer.ElementBytes, 16)
	r.at = place.Layout{Channel: row * s.H, Row: row, Depth: row * s.H * s.C, Group: row * s.H * s.C}
	r.flat = true
	return j.maps(r)
}

// bytes is what the tensor takes.
func (r *resident) bytes() int {
	n := r.at.Group
	if r.flat {
		n *= r.shape.N
	}
	return layer.RoundUp(n, 64)
}

// l2 and maxTile are the bytes of the L2 and those of the largest tensor in it.
func (j *joiner) l2() int { return cmp.Or(j.net.Memories.L2, layer.MaxL2) }

func (j *joiner) maxTile() int { return layer.LargestTile(j.l2()) }

func (j *joiner) maps(r *resident) bool {
	if r.bytes() > j.maxTile() {
		return false
	}
	for _, a := range r.accesses {
		t := j.steps[a.step].part.made.Tasks[a.task]
		if _, ok := r.view(t, a.which); !ok {
			return false
		}
		if a.which != task.OperandResult && !j.followers(a, func(int, *place.Layout) bool { return true }) {
			return false
		}
	}
	return true
}

// followers visits the later tasks of a step that read the tile which the access loads
// and keeps, with where they read it relative to the tile; it reports false where one reads
// it in another form.
func (j *joiner) followers(a access, visit func(k int, at *place.Layout) bool) bool {
	part := j.steps[a.step].part
	tasks := part.made.Tasks
	owner := tasks[a.task]
	if a.which != task.Operand1 || owner.First == nil || owner.First.Owner != owner {
		return true
	}
	own := owner.First.At
	in := owner.InShape()
	for _, r := range j.readersOf(part)[owner.First] {
		if r.task <= a.task {
			continue
		}
		t := tasks[r.task]
		at := t.L2Layout(r.which)
		if at.Base != own.Base || in.Channels > 1 && at.Channel != own.Channel || in.Height > 1 && at.Row != own.Row ||
			!task.HaveSameSource(t, owner) {
			return false
		}
		if !visit(r.task, &at) {
			return false
		}
	}
	return true
}

// A reader is an operand of a task of a part that reads a tile.
type reader struct {
	task  int
	which task.Operand
}

// readersOf returns who reads each tile of a part, in order. Parts of many tasks have as many
// tiles, so that it is worked out once for each part.
func (j *joiner) readersOf(p *Part) map[*task.Tile][]reader {
	if m, ok := j.readers[p]; ok {
		return m
	}
	m := map[*task.Tile][]reader{}
	for k, t := range p.made.Tasks {
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

// view is where an operand of a task finds the tensor in the L2: the offsets and strides
// that it has in memory, translated. It fails where those cross planes in a way that the
// layout does not.
func (r *resident) view(t *task.Task, which task.Operand) (place.Layout, bool) {
	m, groups, planes, rows, plain := t.MemoryOf(which)
	s := place.Surface(0, r.shape)
	width := t.InShape().Width
	if which == task.OperandResult {
		if width = t.OutShape().Width; t.IsResultTransposed() {
			width = t.OutShape().Channels
		}
	}
	column := m.Base % s.Row
	if !plain || column%16 != 0 {
		return place.Layout{}, false
	}
	if r.flat && r.at.Row == s.Row {
		// Rows without gaps stand there as in memory, and so do rows of another length.
		at := place.Layout{Base: m.Base, Channel: m.Plane, Row: m.Row, Group: m.Group}
		return at.CompleteStrides(planes, rows, width)
	}
	inside := column + width*layer.ElementBytes // of a row
	if inside > s.Row {
		return place.Layout{}, false
	}
	at := place.Layout{Base: column}
	ok := true
	// stride translates n strides of bytes from the operand's first element on.
	stride := func(bytes, n int) int {
		switch {
		case n <= 1 || bytes == 0:
			return 0
		case bytes%16 == 0 && inside+(n-1)*bytes <= s.Row: // pieces of a row
			inside += (n - 1) * bytes
			return bytes
		case bytes%s.Row != 0:
			ok = false
			return 0
		case r.flat:
			return bytes / s.Row * r.at.Row
		case bytes%s.Plane == 0:
			return bytes / s.Plane * r.at.Channel
		case (m.Base%s.Plane+(n-1)*bytes)/s.Plane == 0:
			return bytes / s.Row * r.at.Row
		}
		ok = false
		return 0
	}
	at.Channel, at.Row, at.Group = stride(m.Plane, planes), stride(m.Row, rows), stride(m.Group, groups)
	if r.flat {
		at.Base += m.Base / s.Row * r.at.Row
	} else {
		at.Base += m.Base/s.Plane*r.at.Channel + m.Base%s.Plane/s.Row*r.at.Row
		// Rows and planes may both be runs of rows: together they have to stay inside.
		if m.Plane < s.Plane && planes > 1 && rows > 1 && m.Row < s.Plane &&
			(m.Base%s.Plane+(planes-1)*m.Plane+(rows-1)*m.Row) >= s.Plane {
			ok = false
		}
	}
	if at.Channel == 0 && planes <= 1 {
		at.Channel = r.at.Channel
	}
	at, within := at.CompleteStrides(planes, rows, width)
	return at, ok && within
}

// stepTiles are the bytes of the L2 from lo to hi that the tasks of a step use for what
// is not resident.
func (j *joiner) stepTiles(step int, kept map[access]*resident) (lo, hi int) {
	lo = j.l2()
	alone := true
	cover := func(base, bytes int) {
		lo, hi = min(lo, base), max(hi, base+bytes)
	}
	gone := map[*task.Tile]bool{}
	for k, t := range j.steps[step].part.made.Tasks {
		result := t.L2Layout(task.OperandResult)
		for which := range task.OperandResult + 1 {
			alone = alone && kept[access{step, k, which}] == nil
		}
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
			cover(result.Base, min(j.l2()-j.maxTile(), place.Packed(t.OutShape()).Row*t.OutShape().Height))
		default:
			cover(result.Base, t.ResultBytes())
		}
	}
	if hi == 0 || alone {
		lo = 0
	}
	return lo &^ 63, min(j.l2(), layer.RoundUp(hi, 64))
}

// reside chooses the tensors that stay in the L2 and places them, and the tiles of every
// step: shift is what to add to the step's own addresses.
func (j *joiner) reside() (kept map[access]*resident, shift []int) {
	chosen := j.candidates()
	live := make([]bool, len(j.tensors))
	for _, r := range chosen {
		live[r.tensor] = true
	}
	for {
		kept = map[access]*resident{}
		chosen = slices.DeleteFunc(chosen, func(r *resident) bool { return !live[r.tensor] })
		var list []*place.Extent
		for _, r := range chosen {
			t := &j.tensors[r.tensor]
			r.extent = &place.Extent{Bytes: r.bytes(), First: r.accesses[0].step, Last: t.last, Streams: r.loads != nil}
			list = append(list, r.extent)
			for _, a := range r.accesses {
				kept[a] = r
			}
		}
		list = j.inPlace(chosen, kept, list)
		arenas := make([]*place.Extent, len(j.steps))
		lows := make([]int, len(j.steps))
		for i := range j.steps {
			lo, hi := j.stepTiles(i, kept)
			arenas[i], lows[i] = &place.Extent{Bytes: hi - lo, First: i, Last: i, Streams: true}, lo
			list = append(list, arenas[i])
		}
		bad := place.Allocate(list, j.l2())
		if bad == nil {
			shift = make([]int, len(j.steps))
			for i, a := range arenas {
				shift[i] = a.Base - lows[i]
			}
			return kept, shift
		}
		// What lives longest for the bytes it saves gives way, at the step that is full.
		var out *resident
		for _, r := range chosen {
			if r.extent.Overlaps(bad) && (out == nil || cmp.Or(
				cmp.Compare(r.extent.Last-r.extent.First, out.extent.Last-out.extent.First),
				cmp.Compare(r.extent.Bytes, out.extent.Bytes)) > 0) {
				out = r
			}
		}
		if out == nil { // a step by itself: as it was lowered
			return map[access]*resident{}, make([]int, len(j.steps))
		}
		live[out.tensor] = false
	}
}

// inPlace gives a result the place of a source that nothing reads afterwards, where the
// step is one task that takes each element once: softmax works so. (That additions do
// between convolutions is inferred.)
func (j *joiner) inPlace(chosen []*resident, kept map[access]*resident, list []*place.Extent) []*place.Extent {
	gone := map[*place.Extent]bool{}
	for _, r := range chosen {
		a := r.accesses[0]
		plan := j.steps[a.step].part.made.Tasks
		if a.which != task.OperandResult || len(plan) != 1 || !plan[0].IsElementwise() {
			continue
		}
		for _, which := range [...]task.Operand{task.Operand1, task.Operand2} {
			in := kept[access{a.step, 0, which}]
			if in == nil || in.extent == r.extent || in.extent.Last != a.step || in.at != r.at || in.loads != nil && in.loads[0].step == a.step {
				continue
			}
			from, ok := in.view(plan[0], which)
			to, _ := r.view(plan[0], task.OperandResult)
			if !ok || from != to {
				continue
			}
			gone[r.extent] = true
			in.extent.Last = r.extent.Last
			r.extent = in.extent
			break
		}
	}
	return slices.DeleteFunc(list, func(e *place.Extent) bool { return gone[e] })
}
