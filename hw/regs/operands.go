package regs

// A Role says which operand of a task a tensor is.
type Role uint8

// Roles of tensors.
const (
	FirstSource Role = iota
	SecondSource
	Destination
)

var roleNames = [...]string{"source 1", "source 2", "destination"}

// String returns "source 1", "source 2" or "destination".
func (r Role) String() string { return roleNames[r] }

// A Residence says how long a tensor stays in L2.
type Residence uint8

// Residences, as bits 0 and 1 of SourceCfg and ResultCfg encode them in programs.
const (
	Streamed Residence = iota // passes through on its way from or to device memory
	Resident                  // is already there from an earlier descriptor, or stays for a later one
	Circular                  // a ring of rows between two descriptors that run at the same time
)

// An Operand is a tensor that a task reads or writes, with its location in device memory and L2.
type Operand struct {
	Role Role
	Used bool // the task computes with it
	DRAM bool // the tile DMA moves it from or to device memory
	L2   Residence
	// Surface holds the shape, in which repeated axes have length one, and the address in device
	// memory, which is meaningful only if DRAM is set.
	Surface
	Tile  Tile   // position in L2
	Bytes uint64 // bytes that the tile DMA moves, counted like Apple's compiler counts them
}

// InL2 reports whether L2 must hold the whole tensor at once.
func (o *Operand) InL2() bool { return o.Used && o.L2 == Resident }

// A KernelOperand describes the weights that a task reads from device memory.
type KernelOperand struct {
	On       bool
	Bytes    uint64 // bytes moved; a buffer that several lanes read counts once
	Lane     uint64 // bytes of the longest lane
	Low, End uint64 // offsets of the first byte and of the end
}

// Operands describes all tensors and weights that a task reads and writes, and how many bytes of
// each move.
type Operands struct {
	In, Out                  Shape // shapes of the task's source and result, before axes are repeated
	Source1, Source2, Result Operand
	Kernel                   KernelOperand
}

// Operands returns the operands that the registers g set up, in newly allocated memory. Use
// [Operands.Resolve] to reuse memory.
func (g *Groups) Operands() *Operands {
	o := new(Operands)
	o.Resolve(g)
	return o
}

// List returns both sources and the result, in the order of [Role].
func (o *Operands) List() [3]*Operand { return [3]*Operand{&o.Source1, &o.Source2, &o.Result} }

// Sources returns the number of sources that the task computes with, 1 or 2.
func (o *Operands) Sources() int {
	if o.Source2.Used {
		return 2
	}
	return 1
}

// Bytes returns the number of bytes that the task moves between device memory and the engine.
func (o *Operands) Bytes() uint64 {
	return o.Source1.Bytes + o.Source2.Bytes + o.Result.Bytes + o.Kernel.Bytes
}

// Resolve sets o to the operands that the registers g set up. It does not allocate memory.
func (o *Operands) Resolve(g *Groups) {
	o.In, o.Out = g.InShape(), g.OutShape()
	o.resolveSource1(g)
	o.resolveSource2(g)
	o.resolveResult(g)
	o.Kernel.resolveStreams(g)
}

func (o *Operands) resolveSource1(g *Groups) {
	d, l := &g.TileDMASrc, &g.L2
	s := &o.Source1
	s.Role, s.Used, s.DRAM = FirstSource, true, g.Source1On()
	s.L2 = sourceResidence(s.DRAM, l.SourceCfg.Type())
	s.Shape = o.In
	repeats := false
	if b := g.Common.PlanarOperands; !b.IsZero() && g.Planar() {
		repeats = b.Src1BroadcastH()
		s.Shape = s.Shape.withUnitExtents(b.Src1BroadcastW(), repeats, b.Src1BroadcastD(), b.Src1BroadcastC())
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
	s.countSourceBytes(g, repeats)
}

func (o *Operands) resolveSource2(g *Groups) {
	d, l := &g.TileDMASrc, &g.L2
	s := &o.Source2
	used, on := g.Planar() && g.Common.Cfg.PlanarForm().Sources() == 2, g.Source2On()
	if !used && !on {
		if s.Role != SecondSource || s.Used || s.DRAM { // otherwise it is empty already
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
			// Two rows, one of addends and one of factors, with one value per channel.
			s.Shape.Width, s.Shape.Height, repeats = 1, 2, true
			s.Shape = s.Shape.withUnitExtents(false, false, b.Src2BroadcastD(), b.Src2BroadcastC())
		} else {
			s.Shape = s.Shape.withUnitExtents(b.Src2BroadcastW(), repeats, b.Src2BroadcastD(), b.Src2BroadcastC())
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
	s.countSourceBytes(g, repeats)
}

func (o *Operands) resolveResult(g *Groups) {
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
	// The estimate pads rows as Apple's compiler does: rows of the transposed tensor with Cfg
	// bit 28, but not with the planar engine's bit.
	w, c := s.Width, s.Channels
	if g.Common.Cfg.Transpose() {
		w, c = c, w
	}
	s.Bytes = 0
	if s.DRAM {
		s.Bytes = s.paddedBytes(w, s.Height, c)
	}
}

// Types of L2.SourceCfg and L2.ResultCfg (from the bytes of Apple's programs).
const (
	typeKept     = 1
	typeCircular = 3
)

// sourceResidence returns where a source resides, from whether it comes from DRAM and from its
// type. A source of type 1 keeps data from the tile DMA for later readers. A source of type 3 is a
// ring.
func sourceResidence(dram bool, kind uint32) Residence {
	switch {
	case kind == typeCircular && !dram:
		return Circular
	case !dram || kind == typeKept:
		return Resident
	}
	return Streamed
}

// withUnitExtents returns s with extent 1 along each of the axes width, height, depth and channels
// whose argument is true.
func (s Shape) withUnitExtents(w, h, d, c bool) Shape {
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

// paddedBytes returns the size of h rows of w elements in each of c channels, in all groups and
// depths. Each row is padded to a multiple of 64 bytes. Channels that are interleaved share a row
// (2 of 2 tasks: 12,032 bytes, as their row stride, and not 12,000 padded alone).
func (s *Surface) paddedBytes(w, h, c int) uint64 {
	if n := max(1, s.Interleave); n > 1 {
		w, c = w*n, (c+n-1)/n
	}
	row := (uint64(w)*uint64(s.elementBytes()) + 63) &^ 63
	return row * uint64(h) * uint64(s.Planes()) * uint64(c) * uint64(s.Groups)
}

// elementSize returns the size of an element in bytes. Formats other than fp16 have eight bits.
func elementSize(f Format) int {
	if f == FormatFP16 {
		return fp16Bytes
	}
	return 1
}

// haloRows returns how many source rows a convolution reads twice because it is split into slices
// of rows. A slice starts at a multiple of the stride and has whole strides of rows (seen in 4 of 4
// vendor estimates at stride 2).
func haloRows(g *Groups) int {
	c := &g.Common
	rows, out := int(c.TileCfg.TileHeight()), int(c.OutDim.Hout())
	if rows == 0 || rows >= out {
		return 0
	}
	kh, sy := int(c.ConvCfg.Kh()), max(1, int(c.ConvCfg.Sy()))
	return ((out+rows-1)/rows - 1) * ((kh - 1) / sy * sy)
}

// countSourceBytes sets the number of bytes that the DMA of a source moves, including those of rows
// that it reads twice. If repeats is true, the task repeats rows of the source and reads none of
// them twice.
func (s *Operand) countSourceBytes(g *Groups, repeats bool) {
	s.Bytes = 0
	if !s.DRAM {
		return
	}
	rows := s.Height
	if !repeats {
		rows = max(0, rows+haloRows(g))
	}
	s.Bytes = s.paddedBytes(s.Width, rows, s.Channels)
}

// resolveStreams sets k to the weight streams that are on in the registers g.
func (k *KernelOperand) resolveStreams(g *Groups) {
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
		// Lanes are in ascending order or all read one buffer; search for others.
		if above := !k.On || at > highest; above || at != last && !hasEarlierLaneAt(d, i, uint32(at)) {
			k.Bytes += n
		}
		k.On, k.Lane, k.End = true, max(k.Lane, n), max(k.End, at+n)
		last, highest = at, max(highest, at)
	}
}

// hasEarlierLaneAt reports whether a lane below i is enabled and reads the buffer at the offset at.
func hasEarlierLaneAt(d *KernelDMASrc, i int, at uint32) bool {
	for j := range i {
		if d.CoeffDMAConfig[j].En() && d.CoeffBaseAddr[j].Bytes() == at {
			return true
		}
	}
	return false
}
