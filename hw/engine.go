package hw

import (
	"errors"
	"fmt"

	"anesim/hw/dma"
	"anesim/hw/evidence"
	"anesim/hw/regs"
	"anesim/internal/datapath/mac"
	"anesim/internal/datapath/tiles"
)

// An engineTask is a task of the MAC engines that is ready to run.
type engineTask struct {
	arithmetic mac.Arithmetic
	post       mac.Post
	conv       tiles.Convolution // set for a multiply-accumulate
}

// loadTableAndWeights reads the activation table and the weights of task t into e. If the model cannot
// interpret them, it returns the reason as a limit. If the device could not start the task, it
// returns a fault.
func (d *Device) loadTableAndWeights(e *engineTask, t *regs.Task) (limit *evidence.Limit, f *Fault) {
	g := &t.Groups
	lanes, err := d.readLanes(t)
	if err != nil {
		return nil, &Fault{Unit: "kernel-dma", What: err.Error()}
	}
	e.post = mac.Post{
		Scale: mac.PostScale(halfFromBits(g.NE.PostScale.PostScale()), uint(g.NE.PostScale.PostScaleRightShift())),
		Bias:  mac.AccBias(halfFromBits(g.NE.AccBias.AccBias()), uint(g.NE.AccBias.AccBiasShift())),
		ReLU:  g.NE.MACCfg.NonlinearMode() == regs.ReLU,
	}
	e.arithmetic = d.p.arithmetic
	e.arithmetic.FullRange = !hasLimitedSums(g)
	accumulates := g.NE.MACCfg.OpMode() == regs.MultiplyAccumulate
	// The table is read and removed before the weights, since it is assumed to precede them in each lane.
	// Other tasks have nothing but the table in their lanes.
	if g.TableInLanes() {
		table := lanes
		if accumulates {
			if lanes, err = stripTables(g, lanes); err != nil {
				return nil, &Fault{Unit: "kernel-dma", What: err.Error()}
			}
		}
		if e.post.Table, err = d.readTable(table); err != nil {
			return d.newUnreadableLimit(t, "activation table", err), nil
		}
	}
	if !accumulates {
		return nil, nil
	}
	e.conv = tiles.NewConvolution(g)
	e.conv.Arithmetic, e.conv.Post = e.arithmetic, e.post
	// Registers can ask for more source elements than a host has memory, so this comes before anything is
	// allocated for them.
	if n := e.conv.Staged(); n > maxPlane {
		return nil, &Fault{Unit: "tile-dma-source", What: fmt.Sprintf("one row of results needs %d source elements at once; want at most %d", n, maxPlane)}
	}
	e.conv.Kernel, err = tiles.NewKernel(g, lanes)
	// The length of dense lanes follows from the registers alone, so lanes that are too short are a fault
	// of the task. In any other packing the model may misread the format, and it claims no fault.
	var short *tiles.KernelError
	switch packing, _ := tiles.PackingOf(g); {
	case err == nil:
	case packing == tiles.Dense && errors.As(err, &short):
		return nil, &Fault{Unit: "kernel-dma", What: err.Error()}
	default:
		return d.newUnreadableLimit(t, "weights", err), nil
	}
	if t.WindowTaps > 0 {
		e.conv.Needed = e.conv.Kernel.Window(g)
	}
	return nil, nil
}

// NeededTaps returns the value for t.WindowTaps: how many taps (elements of the convolution window)
// the values of task t need. It returns 0 if they need all taps, if t is not a multiply-accumulate
// with a window of several taps, or if the weights cannot be read. The function read must return
// the n bytes of a weight stream at device address addr, or nil if they are not known.
func NeededTaps(t *regs.Task, read func(addr, n uint64) []byte) int {
	g := &t.Groups
	c := g.Common.ConvCfg
	if g.Planar() || g.NE.MACCfg.OpMode() != regs.MultiplyAccumulate || c.Kh()*c.Kw() <= 1 {
		return 0
	}
	var lanes [tiles.Engines][]byte
	for i, l := range dma.Lanes(g, t.Bases.Kernel) {
		if l.On {
			if lanes[i] = read(l.Addr, uint64(l.Size)); lanes[i] == nil {
				return 0
			}
		}
	}
	if g.TableInLanes() {
		var err error
		if lanes, err = stripTables(g, lanes); err != nil {
			return 0
		}
	}
	taps := tiles.NeededTaps(g, lanes)
	if taps >= int(c.Kh()*c.Kw()) {
		return 0
	}
	return taps
}

// hasLimitedSums reports whether a task of the MAC engines adds several products, whose sums have a limit.
func hasLimitedSums(g *regs.Groups) bool {
	switch g.NE.MACCfg.OpMode() {
	case regs.MantissaTable: // sums over channels
		return true
	case regs.MultiplyAccumulate:
		return tiles.Taps(g) > 1
	}
	return false
}

// newUnreadableLimit returns an [evidence.Limit] that says that a part of t's weights, such as
// "activation table", could not be read because of err. It also says whether the weights are
// missing or have an unknown form.
func (d *Device) newUnreadableLimit(t *regs.Task, part string, err error) *evidence.Limit {
	k := &d.ops.Kernel
	if d.mem.MadeUp(t.Bases.Kernel+k.Low, k.End-k.Low) {
		return &evidence.Limit{Kind: evidence.MissingInput, What: part + " is in constants that were not given; pass them with --in weights=FILE"}
	}
	return &evidence.Limit{Kind: evidence.MissingSpecification, What: part + ": " + err.Error()}
}

// computeRows computes rows first to last-1 of the result in p on the given number of goroutines.
// Only a task that passes its source through may compute fewer rows than all.
func (e *engineTask) computeRows(g *regs.Groups, p part, first, last, workers int) {
	s := g.OutShape()
	channels := g.InShape().Channels
	switch op := g.NE.MACCfg.OpMode(); {
	case op == regs.MultiplyAccumulate:
		e.conv.Group = p.group
		e.conv.Run(p.dst, p.src, workers)
	case op == regs.ChannelProduct:
		tiles.ChannelProduct(p.dst, p.src, s, e.post)
	case op == regs.ChannelMaximum:
		tiles.ChannelMaximum(p.dst, p.src, s, channels, e.post)
	case op == regs.MantissaTable && !g.Common.GroupConvCfg.UnicastEn():
		tiles.ChannelSum(p.dst, p.src, s, channels, e.arithmetic, e.post)
	case first > 0 || last < s.Height:
		s.Height = last - first
		tiles.PassThrough(shiftedRows{dst: p.dst, first: first}, shiftedRows{src: p.src, first: first}, s, e.post, workers)
	default:
		tiles.PassThrough(p.dst, p.src, s, e.post, workers)
	}
}

// shiftedRows is a view of a tensor that begins at its row first.
type shiftedRows struct {
	src   tiles.Source
	dst   tiles.Sink
	first int
}

func (l shiftedRows) Row(dst []half, c, y int)       { l.src.Row(dst, c, y+l.first) }
func (l shiftedRows) SetRow(src []half, c, y, x int) { l.dst.SetRow(src, c, y+l.first, x) }

// readLanes returns the bytes of the weight streams of t, indexed by engine. The bytes are nil for
// streams that are off.
func (d *Device) readLanes(t *regs.Task) (b [tiles.Engines][]byte, err error) {
	for i, l := range dma.Lanes(&t.Groups, t.Bases.Kernel) {
		if l.On {
			if b[i], err = d.mem.Peek(l.Addr, uint64(l.Size)); err != nil {
				return b, fmt.Errorf("weight lane %d: %w", i, err)
			}
		}
	}
	return b, nil
}

// readTable parses the activation table at the start of the first weight stream that is on. In
// known tasks without weights, all streams read the same table. The device keeps tables, because the
// tasks of a network have few different ones and a table computes the values of all inputs only once.
func (d *Device) readTable(lanes [tiles.Engines][]byte) (*mac.Table, error) {
	for i, b := range lanes {
		switch {
		case b == nil:
		case len(b) < mac.TableBytes:
			return nil, &tiles.KernelError{Lane: i, Need: mac.TableBytes, Have: len(b)}
		default:
			key := [mac.TableBytes]byte(b)
			if t := d.tables[key]; t != nil {
				return t, nil
			}
			t, err := mac.ParseTable(key[:])
			if err != nil {
				return nil, err
			}
			if d.tables == nil {
				d.tables = map[[mac.TableBytes]byte]*mac.Table{}
			}
			if len(d.tables) == maxTables { // results do not depend on which is forgotten
				for k := range d.tables {
					delete(d.tables, k)
					break
				}
			}
			d.tables[key] = t
			return t, nil
		}
	}
	return nil, fmt.Errorf("missing activation table: no weight lane is enabled")
}

// maxTables is the number of tables that a device keeps. It limits their values to 8 MiB.
const maxTables = 64

// stripTables removes the activation table, 128 bytes, from the start of each weight stream of a
// multiply-accumulate. That each stream has a table was seen in 5 of 5 programs. That the table
// precedes the weights is assumed.
func stripTables(g *regs.Groups, lanes [tiles.Engines][]byte) ([tiles.Engines][]byte, error) {
	for i, b := range lanes {
		if b == nil {
			continue
		}
		if len(b) < mac.TableBytes {
			return lanes, &tiles.KernelError{Lane: i, Need: mac.TableBytes, Have: len(b)}
		}
		lanes[i] = b[mac.TableBytes:]
	}
	return lanes, nil
}
