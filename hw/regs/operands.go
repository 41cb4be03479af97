package regs

// A Role is what an operand is to its task.
type Role uint8

// The roles.
const (
	FirstSource Role = iota
	SecondSource
	Destination
)

var roleNames = [...]string{"source 1", "source 2", "destination"}

// String is the role as messages call it.
func (r Role) String() string { return roleNames[r] }

// A Residence is how an operand's tile stands in the L2.
type Residence uint8

// The residences (SourceCfg and ResultCfg bits 0-1, bytes: residency.md).
const (
	Streamed Residence = iota // passes through on its way from or to device memory
	Resident                  // stands there from an earlier descriptor, or stays for a later one
	Circular                  // a ring of rows between two descriptors that run beside each other
)

// An Operand is a tensor that a task reads or writes.
type Operand struct {
	Role Role
	Used bool // the task computes with it
	DRAM bool // the tile DMA moves it from or to device memory
	L2   Residence
	// Surface is its shape, with axes that repeat one long, and its place in device
	// memory, which means something where DRAM is set.
	Surface
	Tile  Tile   // its place in the L2
	Bytes uint64 // that the tile DMA moves, in the measure of the stored ExeCycles
}

// InL2 reports whether the operand's tile must stand in the L2 as a whole.
func (o *Operand) InL2() bool { return o.Used && o.L2 == Resident }

// A KernelOperand is the coefficients of a task.
type KernelOperand struct {
	On       bool
	Bytes    uint64 // moved: a buffer that several lanes read counts once
	Lane     uint64 // of the longest lane
	Low, End uint64 // offsets of the first byte and of the end behind the last
}

// Operands is everything a task reads and writes: the one answer to which sources it
// has, where they stand, how far they reach and what moves. It is a plain value that
// Resolve fills without allocating.
type Operands struct {
	In, Out                  Shape // of the task, before axes repeat
	Source1, Source2, Result Operand
	Kernel                   KernelOperand
}

// Operands resolves the operands of a task.
func (g *Groups) Operands() *Operands {
	o := new(Operands)
	o.Resolve(g)
	return o
}

// List is the tensors in the order of their roles.
func (o *Operands) List() [3]*Operand { return [3]*Operand{&o.Source1, &o.Source2, &o.Result} }

// Sources is how many sources the task computes with.
func (o *Operands) Sources() int {
	if o.Source2.Used {
		return 2
	}
	return 1
}

// Bytes is what the task moves between device memory and the engine.
func (o *Operands) Bytes() uint64 {
	return o.Source1.Bytes + o.Source2.Bytes + o.Result.Bytes + o.Kernel.Bytes
}

// Resolve reads the operands of a task from its registers.
func (o *Operands) Resolve(g *Groups) {
	o.In, o.Out = g.InShape(), g.OutShape()
	o.source1(g)
	o.source2(g)
	o.result(g)
	o.Kernel.resolve(g)
}

func (o *Operands) source1(g *Groups) {
	d, l := &g.TileDMASrc, &g.L2
	s := &o.Source1
	s.Role, s.Used, s.DRAM = FirstSource, true, g.Source1On()
	s.L2 = sourceResidence(s.DRAM, l.SourceCfg.Type())
	s.Shape = o.In
	repeats := false
	if b := g.Common.PlanarOperands; b != 0 && g.Planar() {
		repeats = b.Src1BroadcastH()
		s.Shape = s.Shape.broadcast(b.Src1BroadcastW(), repeats, b.Src1BroadcastD(), b.Src1BroadcastC())
	}
	s.Base = d.Src1Base.Bytes()
	s.Row, s.Plane = d.Src1RowStride.Stride(), d.Src1PlaneStride.Stride()
	s.DepthStride, s.Group = d.Src1DepthStride.Stride(), d.Src1GroupStride.Stride()
	s.Transposed, s.Interleave = false, int(d.Src1Fmt.Interleave())
	s.Element = elementSize(g.Common.ChCfg.InFmt())
	s.Tile = Tile{
		Element: s.Element,
		Base:    l.Src1Base.Bytes(), Channel: l.Src1ChannelStride.Bytes(), Row: l.Src1RowStride.Bytes(),
		Depth: l.Src1DepthStride.Bytes(), Group: l.Src1GroupStride.Bytes(),
		Transposed: g.Planar() && g.Common.PlanarOperands.Src1Transpose(),
	}
	s.moved(g, repeats)
}

func (o *Operands) source2(g *Groups) {
	d, l := &g.TileDMASrc, &g.L2
	s := &o.Source2
	used, on := g.Planar() && g.Common.Cfg.PlanarForm().Sources() == 2, g.Source2On()
	if !used && !on {
		if s.Role != SecondSource || s.Used || s.DRAM { // else it is empty already
			*s = Operand{Role: SecondSource}
		}
		return
	}
	s.Role, s.Used, s.DRAM = SecondSource, used, on
	s.L2 = sourceResidence(s.DRAM, 0)
	s.Shape = o.In
	repeats := false
	if g.Planar() {
		b := g.Common.PlanarOperands
		repeats = b.Src2BroadcastH()
		if g.Common.Cfg.PlanarForm() == FormBiasScale {
			// Two rows, one of addends and one of factors, of one value a channel.
			s.Shape.Width, s.Shape.Height, repeats = 1, 2, true
			s.Shape = s.Shape.broadcast(false, false, b.Src2BroadcastD(), b.Src2BroadcastC())
		} else {
			s.Shape = s.Shape.broadcast(b.Src2BroadcastW(), repeats, b.Src2BroadcastD(), b.Src2BroadcastC())
		}
	}
	s.Base = d.Src2Base.Bytes()
	s.Row, s.Plane = d.Src2RowStride.Stride(), d.Src2PlaneStride.Stride()
	s.DepthStride, s.Group = d.Src2DepthStride.Stride(), d.Src2GroupStride.Stride()
	s.Transposed, s.Interleave = false, int(d.Src2Fmt.Interleave())
	s.Element = elementSize(g.Common.ChCfg.InFmt())
	s.Tile = Tile{
		Element: s.Element,
		Base:    l.Src2Base.Bytes(), Channel: l.Src2ChannelStride.Bytes(), Row: l.Src2RowStride.Bytes(),
		Depth: l.Src2DepthStride.Bytes(), Group: l.Src2GroupStride.Bytes(),
		Transposed: g.Planar() && g.Common.PlanarOperands.Src2Transpose(),
	}
	s.moved(g, repeats)
}

func (o *Operands) result(g *Groups) {
	d, l := &g.TileDMADst, &g.L2
	s := &o.Result
	s.Role, s.Used, s.DRAM = Destination, true, g.DestinationOn()
	switch t := l.ResultCfg.Type(); {
	case t == typeCircular && !s.DRAM:
		s.L2 = Circular
	case !s.DRAM || t == typeKept:
		s.L2 = Resident
	default:
		s.L2 = Streamed
	}
	s.Shape = o.Out
	s.Base = d.DstBase.Bytes()
	s.Row, s.Plane = d.DstRowStride.Stride(), d.DstPlaneStride.Stride()
	s.DepthStride, s.Group = d.DstDepthStride.Stride(), d.DstGroupStride.Stride()
	s.Transposed, s.Interleave = g.ResultTransposed(), int(d.DstFmt.Interleave())
	s.Element = elementSize(g.Common.ChCfg.OutFmt())
	s.Tile = Tile{
		Element: s.Element,
		Base:    l.ResultBase.Bytes(), Channel: l.ResultChannelStride.Bytes(), Row: l.ResultRowStride.Bytes(),
		Depth: l.ResultDepthStride.Bytes(), Group: l.ResultGroupStride.Bytes(),
		Transposed: s.Transposed,
	}
	// The measure pads the rows that the vendor's compiler has in mind: those of the
	// transposed tensor under Cfg bit 28, not under the planar engine's bit.
	w, c := s.Width, s.Channels
	if g.Common.Cfg.Transpose() {
		w, c = c, w
	}
	s.Bytes = 0
	if s.DRAM {
		s.Bytes = s.padded(w) * uint64(s.Height) * uint64(s.Planes()) * uint64(c) * uint64(s.Groups)
	}
}

// Types of L2.SourceCfg and L2.ResultCfg (bytes: residency.md).
const (
	typeKept     = 1
	typeCircular = 3
)

// sourceResidence is how a source stands in the L2: a type of 1 keeps what the tile DMA
// brought for later readers, and 3 reads a ring.
func sourceResidence(dram bool, kind uint32) Residence {
	switch {
	case kind == typeCircular && !dram:
		return Circular
	case !dram || kind == typeKept:
		return Resident
	}
	return Streamed
}

// broadcast makes the axes that repeat one long.
func (s Shape) broadcast(w, h, d, c bool) Shape {
	if w {
		s.Width = 1
	}
	if h {
		s.Height = 1
	}
	if d {
		s.Depth = 1
	}
	if c {
		s.Channels = 1
	}
	return s
}

// padded is the bytes of a row of w elements, whose pitch is a multiple of 64.
func (s *Surface) padded(w int) uint64 { return (uint64(w)*uint64(s.elementBytes()) + 63) &^ 63 }

// elementSize is the bytes of an element: the formats other than fp16 have eight bits.
func elementSize(f Format) int {
	if f == FormatFP16 {
		return fp16Bytes
	}
	return 1
}

// halo is the source rows that a convolution split into tiles of rows reads again: a tile
// begins at a whole stride and has whole strides of rows (4/4 of those at stride 2, in
// vendor estimates).
func halo(g *Groups) int {
	c := &g.Common
	rows, out := int(c.TileCfg.TileHeight()), int(c.OutDim.Hout())
	if rows == 0 || rows >= out {
		return 0
	}
	kh, sy := int(c.ConvCfg.Kh()), max(1, int(c.ConvCfg.Sy()))
	return ((out+rows-1)/rows - 1) * ((kh - 1) / sy * sy)
}

// moved counts a source's bytes; one whose rows repeat has no halo.
func (s *Operand) moved(g *Groups, repeats bool) {
	s.Bytes = 0
	if !s.DRAM {
		return
	}
	rows := s.Height
	if !repeats {
		rows = max(0, rows+halo(g))
	}
	s.Bytes = s.padded(s.Width) * uint64(rows) * uint64(s.Planes()) * uint64(s.Channels) * uint64(s.Groups)
}

// resolve reads the coefficient lanes.
func (k *KernelOperand) resolve(g *Groups) {
	*k = KernelOperand{}
	d := &g.KernelDMASrc
	var last, highest uint64
	for i, c := range d.CoeffDMAConfig {
		if !c.En() {
			continue
		}
		at, n := uint64(d.CoeffBaseAddr[i].Bytes()), uint64(d.CoeffBfrSize[i].Bytes())
		if !k.On || at < k.Low {
			k.Low = at
		}
		// Lanes ascend or read one buffer all; others are looked for.
		if above := !k.On || at > highest; above || at != last && !laneAt(d, i, uint32(at)) {
			k.Bytes += n
		}
		k.On, k.Lane, k.End = true, max(k.Lane, n), max(k.End, at+n)
		last, highest = at, max(highest, at)
	}
}

// laneAt reports whether a lane below i that is on reads the buffer at an offset.
func laneAt(d *KernelDMASrc, i int, at uint32) bool {
	for j := range i {
		if d.CoeffDMAConfig[j].En() && d.CoeffBaseAddr[j].Bytes() == at {
			return true
		}
	}
	return false
}
