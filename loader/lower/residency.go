package lower

import (
	"cmp"
	"slices"

	"anesim/hw/regs"
	"anesim/loader/layer"
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

// An operand is one of the three a task has in memory.
type operand int

const (
	operand1 operand = iota
	operand2
	operandResult
)

// An access is a task of a step that reads or writes a tensor in memory.
type access struct {
	step, task int
	which      operand
}

// A resident is a tensor that may stay in the L2.
type resident struct {
	tensor   int
	accesses []access
	shape    layer.Shape
	at       layout
	flat     bool // planes one behind the other, as in memory; else rows
	extent   *extent
	tile     *tile
	// kept is the access that loads an input of the network which later ones read.
	kept *access
}

// memoryOf is where an operand stands in memory, and its extents in the order of its
// strides: group, channel (or column of a transposed result), row.
func (t *task) memoryOf(which operand) (m memory, groups, planes, rows int, plain bool) {
	g := &t.g
	d, s := &g.TileDMASrc, g.InShape()
	plain = g.Common.InDepth.Din() == 1 && g.Common.OutDepth.Dout() == 1
	switch which {
	case operand1:
		m = memory{t.h.Bases.RBase0(), int(d.Src1Base.Bytes()), int(d.Src1RowStride.Bytes()), int(d.Src1PlaneStride.Bytes()), 0, int(d.Src1GroupStride.Bytes())}
		plain = plain && d.Src1Fmt.Interleave() == 1
	case operand2:
		m = memory{t.h.Bases.RBase1(), int(d.Src2Base.Bytes()), int(d.Src2RowStride.Bytes()), int(d.Src2PlaneStride.Bytes()), 0, int(d.Src2GroupStride.Bytes())}
	case operandResult:
		o := &g.TileDMADst
		s = g.OutShape()
		m = memory{t.h.Bases.WBase(), int(o.DstBase.Bytes()), int(o.DstRowStride.Bytes()), int(o.DstPlaneStride.Bytes()), 0, int(o.DstGroupStride.Bytes())}
		plain = plain && o.DstFmt.Interleave() == 1
		if g.ResultTransposed() {
			return m, s.Groups, s.Width, s.Height, plain
		}
	}
	return m, s.Groups, s.Channels, s.Height, plain
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
		for k, t := range s.part.plan.tasks {
			note := func(bar uint32, which operand) {
				at := -1
				if which == operandResult {
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
			if t.g.Source1On() {
				note(t.h.Bases.RBase0(), operand1)
			}
			if t.g.Source2On() {
				note(t.h.Bases.RBase1(), operand2)
			}
			if t.g.DestinationOn() {
				note(t.h.Bases.WBase(), operandResult)
			}
			if k := t.h.KernelBases; k.KBE0() {
				for n := range s.inputs {
					if uint32(s.part.inputs[n].BAR) == k.KBase0() {
						list[s.inputs[n]] = nil
					}
				}
				if k.KBase0() == s.part.surface {
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

// keeps reports whether an input's first reader can leave it in the L2 for others: it
// takes the whole of it at a time, in no slices of columns. (0x171: 22/22 later reads.)
func (j *joiner) keeps(r *resident) bool {
	if len(r.accesses) < 2 || r.accesses[0].which != operand1 {
		return false
	}
	a := &r.accesses[0]
	t := j.steps[a.step].part.plan.tasks[a.task]
	s := t.g.InShape()
	c := &t.g.Common
	r.kept = a
	return s.Elements() == r.shape.Elements() && t.g.L2.SourceCfg.Type() == 2 && c.TileCfg.TileHeight() == c.OutDim.Hout() &&
		int(t.g.L2.Src1ChannelStride.Bytes()) >= s.Width*layer.ElementBytes && !t.g.Source2On() && r.accesses[1].step != a.step
}

// fits chooses a tensor's layout in the L2, row by row or, where a task sees it in
// another shape, plane by plane.
func (j *joiner) fits(r *resident) bool {
	s := r.shape
	at := packed(regs.Shape{Groups: 1, Channels: s.C, Height: s.H, Width: s.W})
	if s.H > 1 {
		at = at.skewed(1, planarFetch)
	}
	at.group = at.row * s.H
	r.at, r.flat = at, false
	if s.N == 1 && j.maps(r) {
		return true
	}
	row := layer.RoundUp(s.W*layer.ElementBytes, 16)
	r.at = layout{channel: row * s.H, row: row, depth: row * s.H * s.C, group: row * s.H * s.C}
	r.flat = true
	return j.maps(r)
}

// bytes is what the tensor takes.
func (r *resident) bytes() int {
	n := r.at.group
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
		t := j.steps[a.step].part.plan.tasks[a.task]
		if _, ok := r.view(t, a.which); !ok {
			return false
		}
		if a.which != operandResult && !j.followers(a, func(*task, *layout) bool { return true }) {
			return false
		}
	}
	return true
}

// followers visits the later tasks of a step that read the tile which the access loads
// and keeps, with where they read it relative to the tile; it reports false where one reads
// it in another form.
func (j *joiner) followers(a access, visit func(t *task, at *layout) bool) bool {
	tasks := j.steps[a.step].part.plan.tasks
	owner := tasks[a.task]
	if a.which != operand1 || owner.first == nil || owner.first.owner != owner {
		return true
	}
	own := owner.first.at
	in := owner.g.InShape()
	for _, t := range tasks[a.task+1:] {
		l := &t.g.L2
		for which, tl := range [...]*tile{t.first, t.second} {
			if tl != owner.first {
				continue
			}
			at := layout{base: int(l.Src1Base.Bytes()), channel: int(l.Src1ChannelStride.Bytes()), row: int(l.Src1RowStride.Bytes())}
			if which == 1 {
				at = layout{base: int(l.Src2Base.Bytes()), channel: int(l.Src2ChannelStride.Bytes()), row: int(l.Src2RowStride.Bytes())}
			}
			if at.base != own.base || in.Channels > 1 && at.channel != own.channel || in.Height > 1 && at.row != own.row ||
				t.g.InShape() != in || t.g.Common.InDepth != owner.g.Common.InDepth {
				return false
			}
			if !visit(t, &at) {
				return false
			}
		}
	}
	return true
}

// view is where an operand of a task finds the tensor in the L2: the offsets and strides
// that it has in memory, translated. It fails where those cross planes in a way that the
// layout does not.
func (r *resident) view(t *task, which operand) (layout, bool) {
	m, groups, planes, rows, plain := t.memoryOf(which)
	s := surface(0, r.shape)
	width := t.g.InShape().Width
	if which == operandResult {
		if width = t.g.OutShape().Width; t.g.ResultTransposed() {
			width = t.g.OutShape().Channels
		}
	}
	column := m.base % s.row
	if !plain || column%16 != 0 {
		return layout{}, false
	}
	if r.flat && r.at.row == s.row {
		// Rows without gaps stand there as in memory, and so do rows of another length.
		at := layout{base: m.base, channel: m.plane, row: m.row, group: m.group}
		return at.of(planes, rows, width)
	}
	inside := column + width*layer.ElementBytes // of a row
	if inside > s.row {
		return layout{}, false
	}
	at := layout{base: column}
	ok := true
	// stride translates n strides of bytes from the operand's first element on.
	stride := func(bytes, n int) int {
		switch {
		case n <= 1 || bytes == 0:
			return 0
		case bytes%16 == 0 && inside+(n-1)*bytes <= s.row: // pieces of a row
			inside += (n - 1) * bytes
			return bytes
		case bytes%s.row != 0:
			ok = false
			return 0
		case r.flat:
			return bytes / s.row * r.at.row
		case bytes%s.plane == 0:
			return bytes / s.plane * r.at.channel
		case (m.base%s.plane+(n-1)*bytes)/s.plane == 0:
			return bytes / s.row * r.at.row
		}
		ok = false
		return 0
	}
	at.channel, at.row, at.group = stride(m.plane, planes), stride(m.row, rows), stride(m.group, groups)
	if r.flat {
		at.base += m.base / s.row * r.at.row
	} else {
		at.base += m.base/s.plane*r.at.channel + m.base%s.plane/s.row*r.at.row
		// Rows and planes may both be runs of rows: together they have to stay inside.
		if m.plane < s.plane && planes > 1 && rows > 1 && m.row < s.plane &&
			(m.base%s.plane+(planes-1)*m.plane+(rows-1)*m.row) >= s.plane {
			ok = false
		}
	}
	if at.channel == 0 && planes <= 1 {
		at.channel = r.at.channel
	}
	at, within := at.of(planes, rows, width)
	return at, ok && within
}

// of gives strides of axes that are one long what a packed tile has, and reports whether all
// are such as the L2 takes.
func (at layout) of(planes, rows, width int) (layout, bool) {
	if planes <= 1 {
		at.channel = cmp.Or(at.channel, layer.RoundUp(width*layer.ElementBytes, 16))
	}
	if at.row == 0 && rows <= 1 {
		at.row = at.channel * max(1, planes)
	}
	at.depth = at.channel * max(1, planes)
	ok := true
	for _, n := range [...]int{at.channel, at.row, at.group} {
		ok = ok && n < layer.MaxL2 && n%16 == 0
	}
	return at, ok
}

// stepTiles are the bytes of the L2 from lo to hi that the tasks of a step use for what
// is not resident.
func (j *joiner) stepTiles(step int, kept map[access]*resident) (lo, hi int) {
	lo = j.l2()
	alone := true
	cover := func(base, bytes int) {
		lo, hi = min(lo, base), max(hi, base+bytes)
	}
	gone := map[*tile]bool{}
	for k, t := range j.steps[step].part.plan.tasks {
		l := &t.g.L2
		for which := range operandResult + 1 {
			alone = alone && kept[access{step, k, which}] == nil
		}
		if kept[access{step, k, operand1}] != nil {
			if t.first != nil && t.first.owner == t {
				gone[t.first] = true
			}
		} else if t.first == nil || !gone[t.first] {
			cover(int(l.Src1Base.Bytes()), t.tileBytes(int(l.Src1ChannelStride.Bytes()), int(l.Src1RowStride.Bytes()), int(l.Src1GroupStride.Bytes())))
		}
		if (t.second != nil && !gone[t.second]) || t.g.Source2On() && kept[access{step, k, operand2}] == nil {
			cover(int(l.Src2Base.Bytes()), t.tileBytes(int(l.Src2ChannelStride.Bytes()), int(l.Src2RowStride.Bytes()), int(l.Src2GroupStride.Bytes())))
		}
		switch {
		case kept[access{step, k, operandResult}] != nil:
		case t.g.DestinationOn() && l.ResultChannelStride == 0:
			cover(int(l.ResultBase.Bytes()), min(j.l2()-j.maxTile(), packed(t.g.OutShape()).row*t.g.OutShape().Height))
		default:
			o := t.g.OutShape()
			cover(int(l.ResultBase.Bytes()), span(o, int(l.ResultChannelStride.Bytes()), int(l.ResultRowStride.Bytes()), int(l.ResultGroupStride.Bytes()), t.g.ResultTransposed()))
		}
	}
	if hi == 0 || alone {
		lo = 0
	}
	return lo &^ 63, min(j.l2(), layer.RoundUp(hi, 64))
}

// tileBytes is what a source takes in the L2: all of its rows, or as many as a tile of
// the result needs.
func (t *task) tileBytes(channel, row, group int) int {
	c := &t.g.Common
	s := t.g.InShape()
	if tile := int(c.TileCfg.TileHeight()); tile < int(c.OutDim.Hout()) {
		s.Height = min(s.Height, (tile-1)*max(1, int(c.ConvCfg.Sy()))+int(c.ConvCfg.Kh()))
		s.Groups = 1
	}
	if t.inMemory() && group <= row {
		s.Groups = 1
	}
	return span(s, channel, row, group, false) + row - min(row, channel*s.Channels)
}

// source is the tile of one of the sources, nil for the result.
func (t *task) source(which operand) *tile {
	switch which {
	case operand1:
		return t.first
	case operand2:
		return t.second
	}
	return nil
}

func span(s regs.Shape, channel, row, group int, transposed bool) int {
	outer, inner := s.Channels, s.Width
	if transposed {
		outer, inner = inner, outer
	}
	return (s.Groups-1)*group + (s.Height-1)*row + (outer-1)*channel + layer.RoundUp(inner*layer.ElementBytes, 16)
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
		var list []*extent
		for _, r := range chosen {
			t := &j.tensors[r.tensor]
			r.extent = &extent{bytes: r.bytes(), first: r.accesses[0].step, last: t.last, streams: r.kept != nil}
			list = append(list, r.extent)
			for _, a := range r.accesses {
				kept[a] = r
			}
		}
		list = j.inPlace(chosen, kept, list)
		arenas := make([]*extent, len(j.steps))
		lows := make([]int, len(j.steps))
		for i := range j.steps {
			lo, hi := j.stepTiles(i, kept)
			arenas[i], lows[i] = &extent{bytes: hi - lo, first: i, last: i, streams: true}, lo
			list = append(list, arenas[i])
		}
		bad := allocate(list, j.l2())
		if bad == nil {
			shift = make([]int, len(j.steps))
			for i, a := range arenas {
				shift[i] = a.base - lows[i]
			}
			return kept, shift
		}
		// What lives longest for the bytes it saves gives way, at the step that is full.
		var out *resident
		for _, r := range chosen {
			if r.extent.meets(bad) && (out == nil || cmp.Or(
				cmp.Compare(r.extent.last-r.extent.first, out.extent.last-out.extent.first),
				cmp.Compare(r.extent.bytes, out.extent.bytes)) > 0) {
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
func (j *joiner) inPlace(chosen []*resident, kept map[access]*resident, list []*extent) []*extent {
	for _, r := range chosen {
		a := r.accesses[0]
		plan := j.steps[a.step].part.plan.tasks
		if a.which != operandResult || len(plan) != 1 || !plan[0].elementwise() {
			continue
		}
		for _, which := range [...]operand{operand1, operand2} {
			in := kept[access{a.step, 0, which}]
			if in == nil || in.extent == r.extent || in.extent.last != a.step || in.at != r.at || in.kept != nil && in.kept.step == a.step {
				continue
			}
			from, ok := in.view(plan[0], which)
			to, _ := r.view(plan[0], operandResult)
			if !ok || from != to {
				continue
			}
			list = slices.DeleteFunc(list, func(e *extent) bool { return e == r.extent })
			in.extent.last = r.extent.last
			r.extent = in.extent
			break
		}
	}
	return list
}

// elementwise reports whether every element of the result comes from the ones at its
// place.
func (t *task) elementwise() bool {
	if t.g.ResultTransposed() || t.g.Common.PlanarOperands != 0 {
		return false
	}
	if t.planar() {
		f := t.g.Common.Cfg.PlanarForm()
		return f == regs.FormTwoSources || f == regs.FormConstant
	}
	return t.g.NE.MACCfg.OpMode() == regs.PassThrough
}
