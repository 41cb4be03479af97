package family

import (
	"errors"
	"fmt"

	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/internal/lower/place"
	"anesim/loader/internal/lower/task"
	"anesim/loader/layer"
)

// copyView appends the task that copies in to out, both in memory.
func copyView(o *Output, l *layer.Layer, in, out place.View) error {
	s := in.S
	t := task.NewCopy(s)
	at := t.SourceTile()
	if err := checkRowsFit(l, at, 1); err != nil {
		return err
	}
	rows, tile := TileHeight(l, s, layer.Shape{N: 1, C: s.Channels, H: s.Height, W: s.Width}, task.Pointwise, &at, false)
	t.SetTileHeight(tile)
	t.LoadSource1(in.M, at, false)
	t.WriteResult(out.M, at.Row*rows)
	o.addTask(t)
	return nil
}

// lowerConcat appends one task for each input, which copies it to its channels of the result (as in
// 2 of 2 programs).
func lowerConcat(o *Output, j job) error {
	l := j.layer
	var y place.Memory
	inputs := make([]place.Memory, len(l.Parts))
	for i, c := range l.Parts {
		s := l.In
		s.C = c
		name, bar := fmt.Sprintf("x%d", i), place.Bar5+uint32(i)
		if i > 0 {
			inputs[i] = o.placePort(j, name, loader.Input, bar, s, place.Surface(bar, s))
			continue
		}
		inputs[i] = o.placeInput(j, name, s)
		y = o.placeOutput(j, "y", l.In)
	}
	first := 0
	for i, c := range l.Parts {
		s := l.In
		s.C = c
		in, out := place.NewView(inputs[i], s), place.NewView(y, s)
		out.M.Base += first * y.Plane
		if err := copyView(o, l, in, out); err != nil {
			return err
		}
		first += c
	}
	return nil
}

// lowerTranspose appends the task that transposes a tensor. Strides can exchange channels and rows,
// and the engines transpose channel and x if another axis becomes x.
//
//	x stays x           strides alone, also for batch with channels
//	channels become x   transpose
//	rows become x       rows as channels, transpose
//
// The compiler does this for C with H, and for H with W of one channel. The other orders use
// other strides in the same way and are inferred.
func lowerTranspose(o *Output, j job) error {
	l := j.layer
	x, y := o.placeInput(j, "x", l.In), o.placeOutput(j, "y", l.Out())
	if l.Order == layer.SwapBatch {
		return swapBatchAndChannels(o, l, x, y)
	}
	order := l.Permutation()
	// Strides of the result by the axis of the input.
	to := map[layer.Axes]int{order[0]: y.Plane, order[1]: y.Row}
	in := place.NewView(x, l.In)
	if order[2] == layer.AxisH {
		in = in.SwapChannelsAndRows()
	}
	out := place.Memory{Bar: y.Bar, Base: y.Base, Depth: y.Depth, Group: y.Group}
	if order[2] == layer.AxisW {
		if order[0] == layer.AxisH {
			in = in.SwapChannelsAndRows()
		}
		out.Plane, out.Row = y.Plane, y.Row
		return forEachElement(o, in, place.View{S: in.S, M: out}, func(in, out place.View) error { return copyView(o, l, in, out) })
	}
	// The engines write columns as channels.
	rows := layer.AxisH
	if order[2] == layer.AxisH {
		rows = layer.AxisC
	}
	out.Plane, out.Row = to[layer.AxisW], to[rows]
	if in.S.Height == 1 {
		in.M.Row, out.Row = in.M.Depth, out.Depth
	}
	return forEachElement(o, in, place.View{S: in.S, M: out}, func(in, out place.View) error {
		most := in.S.Height
		for ; most > 1; most = (most + 1) / 2 {
			if bytesForTranspose(in.S, most) <= l.L2Bytes()-place.UnitBytes {
				break
			}
		}
		if err := layer.CheckLimit("size in bytes of a row and its transpose in L2", bytesForTranspose(in.S, most), l.L2Bytes()-place.UnitBytes,
			"split the channels or the width until they have at most %d bytes"); err != nil {
			return err
		}
		rows := in.S.Height
		for first := 0; first < rows; first += most {
			n := min(most, rows-first)
			addTranspose(o, in.SliceRows(first, n), out.SliceRows(first, n))
		}
		return nil
	})
}

// swapBatchAndChannels appends the tasks that exchange the batch and the channels of x: a copy of each
// channel, or of each element of the batch if these are fewer. (Inferred: the compiler exchanges
// channels and rows by strides in the same way.)
func swapBatchAndChannels(o *Output, l *layer.Layer, x, y place.Memory) error {
	n := l.In.N
	s := regs.Shape{Groups: 1, Channels: l.In.C, Height: l.In.H, Width: l.In.W}
	each, channel := place.Memory{Base: x.Depth, Plane: x.Plane}, place.Memory{Base: y.Plane, Plane: y.Depth}
	if n > l.In.C {
		n, s.Channels = l.In.C, l.In.N
		each, channel = place.Memory{Base: x.Plane, Plane: x.Depth}, place.Memory{Base: y.Depth, Plane: y.Plane}
	}
	for i := range n {
		in, out := place.View{S: s, M: x}, place.View{S: s, M: y}
		in.M.Base, in.M.Plane = x.Base+i*each.Base, each.Plane
		out.M.Base, out.M.Plane = y.Base+i*channel.Base, channel.Plane
		if err := copyView(o, l, in, out); err != nil {
			return err
		}
	}
	return nil
}

// bytesForTranspose returns how many bytes of L2 a transpose needs for its source and its result,
// if it works on the given number of rows of a tensor of shape s at a time.
func bytesForTranspose(s regs.Shape, rows int) int {
	s.Height = rows
	from := task.NewTranspose(s).SourceTile()
	return rows * (from.Row + transposedRowsLayout(s).Row)
}

// addTranspose appends the task that reads in from memory, exchanges channels and columns by way of
// L2, and writes out.
func addTranspose(o *Output, in, out place.View) {
	s := in.S
	t := task.NewTranspose(s)
	at := t.SourceTile()
	t.LoadSource1(in.M, at, false)
	result := transposedRowsLayout(s).Rebase(at.Row * s.Height)
	t.StageResult(out.M, result)
	o.addTask(t)
}

// lowerSlice appends the tasks that copy a part of a tensor. DMA cannot start at a column that is
// not at a multiple of 64 bytes, so such a part is copied by way of L2: one task transposes the
// tile so that columns become channels, and another transposes the wanted channels back.
func lowerSlice(o *Output, j job) error {
	l := j.layer
	x, y := o.placeInput(j, "x", l.In), o.placeOutput(j, "y", l.Size)
	in, out := place.NewView(x, l.Size), place.NewView(y, l.Size)
	in.M.Base += l.Begin.N*x.Depth + l.Begin.C*x.Plane + l.Begin.H*x.Row
	if l.Skew > 0 {
		return forEachElement(o, in, out, func(in, out place.View) error { return copySkewedRows(o, l, in, out) })
	}
	if skip := l.Begin.W * layer.ElementBytes; skip%64 == 0 {
		in.M.Base += skip
		if in.S.Width > place.SliceColumns {
			return forEachElement(o, in, out, func(in, out place.View) error { return copyColumnSlices(o, l, in, out) })
		}
		return copyView(o, l, in, out)
	}
	in.M.Base += l.Begin.W * layer.ElementBytes &^ 63
	column := l.Begin.W % 32
	in.S.Width += column
	return forEachElement(o, in, out, func(in, out place.View) error {
		return splitTensorToFit(o, l, in, out, func(in, out place.View) error { return copyFromColumn(o, l, in, out, column, 0) })
	})
}

// copySkewedRows appends the tasks that copy in to out, where each row begins Skew columns before the
// row above it. in begins at column 0 of the first row. As many rows as fit in L2 are copied at a
// time. (How Apple's compiler does this is not known; a public dump of a network with 24 of
// them has 13,701 tasks, 570 for each.)
func copySkewedRows(o *Output, l *layer.Layer, in, out place.View) error {
	const unit = 64 / layer.ElementBytes // DMA starts at a multiple of 64 bytes
	rows := in.S.Height
	for first := 0; first < in.S.Height; {
		n := min(rows, in.S.Height-first)
		begin := l.Begin.W - l.Skew*first // of the first row
		left := begin - l.Skew*(n-1)      // of the last one
		from, to := in.SliceRows(first, n), out.SliceRows(first, n)
		from.M.Base += left / unit * unit * layer.ElementBytes
		column := begin - left/unit*unit
		from.S.Width = column + l.Size.W
		err := copyFromColumn(o, l, from, to, column, l.Skew)
		switch limit := (*layer.LimitError)(nil); {
		case err == nil:
			first += n
		case n > 1 && errors.As(err, &limit):
			rows = (n + 1) / 2
		default:
			return err
		}
	}
	return nil
}

// copyColumnSlices appends the task that copies rows of more than 128 columns in slices of 128. As
// in the one known program of Apple's compiler, rows of the result in L2 are as far apart as
// two patches with their margins.
func copyColumnSlices(o *Output, l *layer.Layer, in, out place.View) error {
	s := in.S
	t := task.NewCopy(s)
	t.SetPatch(task.SlicedPatch(s))
	at := t.SourceTile()
	result := place.PackedColumns(s, place.EngineColumns(s.Width))
	if s.Height > 1 {
		result = result.Skew(place.Fetch{Rows: 2, Stride: 1, Apart: 10})
	}
	if (at.Row+result.Row)*s.Height > l.L2Bytes()-place.UnitBytes {
		return copyView(o, l, in, out)
	}
	t.LoadSource1(in.M, at, false)
	t.StageResult(out.M, result.Rebase(at.Row*s.Height))
	o.addTask(t)
	return nil
}

// copyFromColumn appends two tasks that copy in to out, without the first columns columns of its first
// row and skew fewer in each row after it. The first task transposes in to L2, so that columns become
// channels, which need no alignment: the unwanted ones can be skipped, and rows that are less far
// apart begin at earlier ones. The second task transposes the rest back.
//
//	row 0  |    abc|        abc
//	row 1  |  def  |   ->   def    with rows that are 2 channels less far apart
//	row 2  |ghi    |        ghi
func copyFromColumn(o *Output, l *layer.Layer, in, out place.View, columns, skew int) error {
	s := in.S
	transposed := place.Packed(regs.Shape{Channels: s.Width, Width: s.Channels})
	prep := task.NewTranspose(s)
	from := prep.SourceTile()
	bytes := transposed.Row * s.Height
	if err := layer.CheckLimit("size in bytes of tiles in L2", bytes+from.Row*s.Height, l.LargestTile(),
		"begin at a multiple of 32 columns, or split the tensor until they have at most %d bytes"); err != nil {
		return err
	}
	prep.LoadSource1(in.M, from.Rebase(bytes), false)
	kept := prep.KeepResult(transposed)
	o.addTask(prep)

	back := task.NewTranspose(regs.Shape{Groups: 1, Channels: out.S.Width, Height: s.Height, Width: s.Channels})
	rest := transposed.Rebase(columns * transposed.Channel)
	rest.Row -= skew * transposed.Channel
	back.ReadTile(kept, rest)
	back.WriteResult(out.M, bytes)
	o.addTask(back)
	return nil
}

// lowerTile appends the tasks that repeat a tensor. One planar task broadcasts all axes of extent
// 1, as Apple's compiler does in the one known program. Other axes are copied once for each
// repetition.
func lowerTile(o *Output, j job) error {
	l := j.layer
	x, y := o.placeInput(j, "x", l.In), o.placeOutput(j, "y", l.Out())
	once := l.Out() // what one task writes
	if l.In.N > 1 || l.Reps.N > 1 {
		once.N = l.In.N
	}
	reps := layer.Shape{N: l.Reps.N, C: 1, H: 1, W: 1}
	for _, a := range [...]struct {
		in, reps   int
		once, left *int
	}{{l.In.C, l.Reps.C, &once.C, &reps.C}, {l.In.H, l.Reps.H, &once.H, &reps.H}, {l.In.W, l.Reps.W, &once.W, &reps.W}} {
		if a.in > 1 {
			*a.once, *a.left = a.in, a.reps
		}
	}
	// A copy must begin at a multiple of 64 bytes, as each row of a tensor in memory does.
	if reps.W > 1 && l.In.W*layer.ElementBytes%64 != 0 {
		return l.Unsupportedf("cannot repeat rows of %d columns; pad them to %d, a multiple of 32", l.In.W, layer.RoundUp(l.In.W, 32))
	}
	if err := layer.CheckLimit("number of copies", reps.N*reps.C*reps.H*reps.W, task.MaxTasks, "repeat at most %d times"); err != nil {
		return err
	}
	for n := range reps.N {
		for c := range reps.C {
			for h := range reps.H {
				for w := range reps.W {
					to := y
					to.Base += n*l.In.N*y.Depth + c*l.In.C*y.Plane + h*l.In.H*y.Row + w*l.In.W*layer.ElementBytes
					if err := forEachElement(o, place.NewView(x, l.In), place.NewView(to, once), func(in, out place.View) error { return addBroadcastTask(o, l, in, out) }); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// addBroadcastTask appends the planar task that repeats in along the axes where it has extent 1, up
// to the shape of out. If the layer has a ReLU, the task applies it.
func addBroadcastTask(o *Output, l *layer.Layer, in, out place.View) error {
	s := out.S
	along := task.C.If(in.S.Channels < s.Channels) | task.H.If(in.S.Height < s.Height) | task.W.If(in.S.Width < s.Width)
	t := task.Planar{Form: regs.FormConstant, In: s, First: task.SourceView{Repeat: along}, ReLU: l.Activation == layer.ReLU}.Task()
	// A patch has 512 pixels, preferring rows to columns, as in the one program seen.
	high := min(task.Log2Ceil(s.Height), 4)
	wide := min(max(task.Log2Ceil(s.Width), 4), 9-high)
	t.SetPatch(task.PlanarPatch(wide, high))
	at := place.Packed(in.S)
	if in.S.Height > 1 {
		at = at.Skew(place.PlanarFetch)
	}
	result := place.PackedColumns(s, min(s.Width, 1<<wide))
	if s.Height > 1 {
		result = result.Skew(place.PlanarFetch)
	}
	bytes := at.Row * in.S.Height
	if in.S.Height == 1 && s.Height > 1 {
		at.Row = at.Channel // read the one row for all rows, as in the one program seen
	}
	if err := layer.CheckLimit("size in bytes of a tile and its copies in L2", bytes+result.Row*s.Height, l.L2Bytes()-place.UnitBytes,
		"repeat along fewer axes at a time until they have at most %d bytes"); err != nil {
		return err
	}
	// The source stays in L2 if the task reads it repeatedly, as in the one program seen.
	t.LoadSource1(in.M, at, along != 0)
	t.StageResult(out.M, result.Rebase(bytes))
	o.addTask(t)
	return nil
}
