package tiles

import (
	"sync"
	"sync/atomic"

	"github.com/x448/float16"

	"anesim/hw/regs"
	"anesim/internal/datapath/mac"
)

// A Source is a tensor whose rows can be read. Row copies the first len(dst) elements of row y of
// channel c to dst.
type Source interface {
	Row(dst []float16.Float16, c, y int)
}

// A Sink is a tensor whose rows can be written. SetRow copies src to row y of channel c, starting
// at element x of the row. Several goroutines may call SetRow at once for different elements.
type Sink interface {
	SetRow(src []float16.Float16, c, y, x int)
}

// A Convolution describes one group of a multiply-accumulate task. Px and Py are the columns and
// rows of zeros before the source; the padding after it follows from the size of the result.
type Convolution struct {
	Cin, Hin, Win    int
	Cout, Hout, Wout int
	Kh, Kw           int // columns for all pixels of a step
	Sy, Sx           int // distance between steps
	Py, Px           int
	Pixels           int  // adjacent pixels per step; Wout counts steps
	Unicast          bool // output channel c reads only input channel c
	TileRows         int  // output rows per source tile
	Kernel           *Kernel
	Group            int
	Arithmetic       mac.Arithmetic
	Post             mac.Post // its Bias is added to the channel's own
	Needed           *Window  // part of the window that [Convolution.Zeros] counts; nil for all of it

	Precision *Precision // to which Run adds the results of the group; nil for none
	Parts     int        // groups and planes of the task, which share the sample of Precision
}

// NewConvolution returns the convolution that computes one group of the task with registers g. The
// caller must set its fields Kernel, Group, Arithmetic and Post.
func NewConvolution(g *regs.Groups) Convolution {
	in, out, cc := g.InShape(), g.OutShape(), g.Common.ConvCfg
	pixels := max(1, int(cc.Ox()))
	return Convolution{
		Cin: in.Channels, Hin: in.Height, Win: in.Width,
		Cout: out.Channels, Hout: out.Height, Wout: out.Width / pixels,
		Kh: int(cc.Kh()), Kw: countStepColumns(cc),
		Sy: int(cc.Sy()), Sx: int(cc.Sx()),
		Py: int(cc.Py()), Px: int(cc.Px()),
		Pixels:   pixels,
		Unicast:  g.Common.GroupConvCfg.UnicastEn(),
		TileRows: int(g.Common.TileCfg.TileHeight()),
	}
}

// countStepColumns returns the number of source columns that the windows of all pixels of one step
// cover in total.
func countStepColumns(cc regs.ConvCfg) int {
	pixels := max(1, cc.Ox())
	return int(cc.Kw() + (pixels-1)*cc.Sx()/pixels)
}

const (
	panelLanes   = 64      // outputs per panel
	laneMultiple = 32      // outputs that the kernels of package mac compute at once, at most
	leastLanes   = 16      // outputs that they compute at once, at least
	panelFloats  = 1 << 20 // most values in a panel: 4 MiB
	longFloats   = 1 << 22 // most values in a panel of leastLanes outputs: 16 MiB
	tapWeights   = 1 << 20 // most prepared weights at a time: 8 MiB
	stageHalves  = 4 << 20 // most staged source elements at a time: 8 MiB
	maxBatch     = 4096    // most output channels per pass over a panel
)

// Run computes the results of the group from src and writes them to dst, with the given number of
// goroutines. The results do not depend on that number.
func (c *Convolution) Run(dst Sink, src Source, workers int) {
	if c.Cout*c.Hout*c.Wout == 0 {
		return
	}
	rows := min(max(1, c.TileRows), c.Hout)
	// A stage may have fewer rows than the registers say. This affects memory use, but not values.
	for rows > 1 && c.Cin*c.countSourceRows(rows)*c.Win > stageHalves {
		rows = (rows + 1) / 2
	}
	s := stage{c: c, order: tapsInStreamOrder(c.Kh, c.Kw, c.Sy, c.Sx)}
	// The first stage lacks the rows above the source. It must not get a smaller buffer than the others.
	s.tile = make([]float16.Float16, c.Cin*min(c.Hin, c.countSourceRows(rows))*c.Win)
	var precision *probe
	if c.Precision != nil {
		precision = c.newProbe()
	}
	for y := 0; y < c.Hout; y += rows {
		s.copySourceRows(src, y, min(rows, c.Hout-y), workers)
		for s.pixel = range max(1, c.Pixels) {
			if precision != nil {
				precision.addChosenResults(&s, workers)
			}
			if c.Unicast {
				s.reduceUnicast(dst, workers)
			} else if s.rows*c.Wout >= 16 {
				s.reducePixels(dst, workers)
			} else {
				s.reduceChannels(dst, workers)
			}
		}
	}
}

// Staged returns the number of source elements that must be in host memory to compute one row of
// results.
func (c *Convolution) Staged() int { return c.Cin * min(c.Hin, c.countSourceRows(1)) * c.Win }

// countSourceRows returns how many source rows are needed to compute the given number of result
// rows.
func (c *Convolution) countSourceRows(rows int) int { return (rows-1)*c.Sy + c.Kh }

// countTaps returns the number of products that are summed for one result.
func (c *Convolution) countTaps() int {
	if c.Unicast {
		return c.Kh * c.Kw
	}
	return c.Cin * c.Kh * c.Kw
}

// A tap is a position in the window of a convolution.
type tap struct{ y, x int }

// tapsInStreamOrder returns the positions in a window of kh rows and kw columns in the order in
// which a weight stream stores them. They are sorted by row modulo the stride sy, and then by
// column modulo the stride sx.
func tapsInStreamOrder(kh, kw, sy, sx int) []tap {
	taps := make([]tap, 0, kh*kw)
	for py := range min(sy, kh) {
		for px := range min(sx, kw) {
			for y := py; y < kh; y += sy {
				for x := px; x < kw; x += sx {
					taps = append(taps, tap{y, x})
				}
			}
		}
	}
	return taps
}

// A stage holds some source rows in host memory and computes the result rows that depend on them.
type stage struct {
	c      *Convolution
	order  []tap
	pixel  int // the pixel of a step that is being computed
	first  int // first output row
	rows   int // number of output rows
	top    int // first source row of the slice, clipped to the source
	height int // number of source rows
	tile   []float16.Float16
}

// copySourceRows copies the source rows that are needed for result rows first to first+rows-1, on
// the given number of goroutines.
func (s *stage) copySourceRows(src Source, first, rows, workers int) {
	c := s.c
	s.first, s.rows = first, rows
	s.top = min(max(0, first*c.Sy-c.Py), c.Hin)
	end := min(max(s.top, (first+rows-1)*c.Sy-c.Py+c.Kh), c.Hin)
	s.height = end - s.top
	forEachParallel(c.Cin, workers, func(next func() (int, bool)) {
		for ch, ok := next(); ok; ch, ok = next() {
			for y := range s.height {
				src.Row(s.sourceRow(ch, s.top+y), ch, s.top+y)
			}
		}
	})
}

// sourceRow returns row y of channel ch, which must be one of the rows that the stage holds.
func (s *stage) sourceRow(ch, y int) []float16.Float16 {
	at := (ch*s.height + y - s.top) * s.c.Win
	return s.tile[at : at+s.c.Win]
}

// forEachParallel runs work on the given number of goroutines. The function next that it passes to
// work returns the next of the numbers 0 to n-1 that no goroutine has taken, or false if none is
// left.
func forEachParallel(n, workers int, work func(next func() (int, bool))) {
	var taken atomic.Int64
	next := func() (int, bool) {
		i := int(taken.Add(1)) - 1
		return i, i < n
	}
	workers = min(workers, n)
	if workers <= 1 {
		work(next)
		return
	}
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() { work(next) })
	}
	wg.Wait()
}

// gatherInputs sets dst[i] to the source element that window position (ky, kx) of channel ch
// multiplies for result first+i. Elements outside the source are 0.
func (s *stage) gatherInputs(dst []float32, scratch []float16.Float16, ch, ky, kx, first int) {
	c := s.c
	for len(dst) > 0 {
		oy, ox := first/c.Wout, first%c.Wout
		n := min(len(dst), c.Wout-ox)
		y := (s.first+oy)*c.Sy + ky - c.Py
		if y < 0 || y >= c.Hin {
			clear(dst[:n])
		} else {
			s.gatherRow(dst[:n], scratch, s.sourceRow(ch, y), ox*c.Sx+kx-c.Px)
		}
		dst, first = dst[n:], first+n
	}
}

// gatherRow converts row[x], row[x+Sx] and so on to fp32 in dst. Elements outside the row are 0.
func (s *stage) gatherRow(dst []float32, scratch, row []float16.Float16, x int) {
	step := s.c.Sx
	lead := 0
	if x < 0 {
		lead = min(len(dst), (-x+step-1)/step)
		x += lead * step
	}
	inside := 0
	if x < len(row) {
		inside = min(len(dst)-lead, (len(row)-x+step-1)/step)
	}
	clear(dst[:lead])
	clear(dst[lead+inside:])
	if inside == 0 {
		return
	}
	if step == 1 {
		s.c.Arithmetic.Widen(dst[lead:lead+inside], row[x:x+inside])
		return
	}
	for i := range inside {
		scratch[i] = row[x+i*step]
	}
	s.c.Arithmetic.Widen(dst[lead:lead+inside], scratch[:inside])
}

// fillPanel fills the columns of a panel for n results from first on. Row k of the panel, which has the
// given number of lanes, holds the source elements that the k-th weight multiplies. Lanes beyond n are
// 0.
func (s *stage) fillPanel(panel []float32, scratch []float16.Float16, lanes, n, first, channel, channels int) {
	k := 0
	for ch := channel; ch < channel+channels; ch++ {
		for _, t := range s.order {
			row := panel[k*lanes:][:lanes]
			s.gatherInputs(row[:n], scratch, ch, t.y, t.x, first)
			clear(row[n:])
			k++
		}
	}
}

// writeRows writes the results of one channel to the sink row by row. The slice out starts with
// result number first.
func (s *stage) writeRows(dst Sink, out []float16.Float16, channel, first int) {
	for len(out) > 0 {
		oy, ox := first/s.c.Wout, first%s.c.Wout
		n := min(len(out), s.c.Wout-ox)
		if p := s.c.Pixels; p > 1 {
			for i := range n {
				dst.SetRow(out[i:i+1], channel, s.first+oy, (ox+i)*p+s.pixel)
			}
		} else {
			dst.SetRow(out[:n], channel, s.first+oy, ox)
		}
		out, first = out[n:], first+n
	}
}

// newPost returns the value at which the sums of an output channel start, which is its bias, and the
// post-processing of its sums.
func (s *stage) newPost(channel int) (start float32, post mac.Post) {
	p := s.c.Post
	p.Bias += s.c.Kernel.Bias(s.c.Group, channel, s.pixel).Float32()
	return p.Start()
}

// panelWidth returns how many results a panel should hold if each of the given number of outputs is
// a sum of taps products. It is a multiple of laneMultiple unless the sums are long, because package mac
// computes other results more slowly than results that nobody needs. For the same reason a panel of
// long sums exceeds panelFloats before it has fewer than leastLanes results.
func panelWidth(taps, outputs int) int {
	lanes := panelLanes
	for lanes > leastLanes && lanes*taps > panelFloats || lanes > 1 && lanes*taps > longFloats {
		lanes /= 2
	}
	return min(lanes, (outputs+laneMultiple-1)/laneMultiple*laneMultiple)
}

// fillTaps sets the vectors of taps to the weights of output channels first, first+1 and so on.
func (s *stage) fillTaps(taps *mac.Taps, first, n, workers int) {
	c, k := s.c, s.c.countTaps()
	forEachParallel(n, workers, func(next func() (int, bool)) {
		half, wide := make([]float16.Float16, k), make([]float32, k)
		for i, ok := next(); ok; i, ok = next() {
			c.Kernel.Taps(half, c.Group, first+i, s.pixel)
			taps.SetHalves(i, half, wide, c.Arithmetic)
		}
	})
}

// reducePixels computes the results with panels of adjacent pixels, which serve all output
// channels.
func (s *stage) reducePixels(dst Sink, workers int) {
	c, k := s.c, s.c.countTaps()
	pixels := s.rows * c.Wout
	lanes := panelWidth(k, pixels)
	blocks := (pixels + lanes - 1) / lanes
	// The prepared weights of a batch serve all panels. The bound keeps them at 8 MiB however large the
	// layer is.
	batch := min(c.Cout, max(1, tapWeights/k), maxBatch)
	taps := mac.NewTaps(batch, k)
	start, posts := make([]float32, batch), make([]mac.Post, batch)
	type room struct {
		panel, acc []float32
		half       []float16.Float16
	}
	rooms := sync.Pool{New: func() any {
		return &room{make([]float32, k*lanes), make([]float32, batch*lanes), make([]float16.Float16, lanes)}
	}}
	for first := 0; first < c.Cout; first += batch {
		n := min(batch, c.Cout-first)
		taps.Resize(n, k)
		s.fillTaps(taps, first, n, workers)
		for i := range n {
			start[i], posts[i] = s.newPost(first + i)
		}
		forEachParallel(blocks, workers, func(next func() (int, bool)) {
			// Taken from a pool, because a goroutine starts anew for every batch of output channels.
			r := rooms.Get().(*room)
			defer rooms.Put(r)
			panel, acc, half := r.panel, r.acc, r.half
			for b, ok := next(); ok; b, ok = next() {
				p := b * lanes
				m := min(lanes, pixels-p)
				s.fillPanel(panel, half, lanes, m, p, 0, c.Cin)
				c.Arithmetic.Reduce(acc[:n*lanes], panel, lanes, taps, mac.Start{PerVector: start[:n]})
				for i := range n {
					posts[i].Apply(half[:m], acc[i*lanes:][:m])
					s.writeRows(dst, half[:m], first+i, p)
				}
			}
		})
	}
}

// reduceChannels computes the results with panels of output channels. It is faster than
// reducePixels if there are fewer pixels than a vector register has elements.
func (s *stage) reduceChannels(dst Sink, workers int) {
	c, k := s.c, s.c.countTaps()
	pixels := s.rows * c.Wout
	taps := mac.NewTaps(pixels, k)
	{
		// Weights and source change their roles: the inputs of each pixel are prepared like taps, and
		// output channels fill the vector registers.
		column := make([]float32, k)
		scratch := make([]float16.Float16, 1)
		for p := range pixels {
			s.fillPanel(column, scratch, 1, 1, p, 0, c.Cin)
			taps.Set(p, column)
		}
	}
	lanes := panelWidth(k, c.Cout)
	blocks := (c.Cout + lanes - 1) / lanes
	forEachParallel(blocks, workers, func(next func() (int, bool)) {
		panel := make([]float32, k*lanes)
		acc := make([]float32, pixels*lanes)
		start, posts := make([]float32, lanes), make([]mac.Post, lanes)
		half, wide := make([]float16.Float16, k), make([]float32, k)
		out := make([]float16.Float16, 1)
		for b, ok := next(); ok; b, ok = next() {
			ch := b * lanes
			m := min(lanes, c.Cout-ch)
			for l := range m {
				c.Kernel.Taps(half, c.Group, ch+l, s.pixel)
				c.Arithmetic.Widen(wide, half)
				for i, w := range wide {
					panel[i*lanes+l] = w
				}
			}
			for l := range m {
				start[l], posts[l] = s.newPost(ch + l)
			}
			c.Arithmetic.Reduce(acc, panel, lanes, taps, mac.Start{PerLane: start})
			for l := range m {
				for p := range pixels {
					posts[l].Apply(out, acc[p*lanes+l:][:1])
					s.writeRows(dst, out, ch+l, p)
				}
			}
		}
	})
}

// reduceUnicast computes a task in which each output channel depends on one source channel only. It
// copies the source channel with its padding to one plane per position modulo the stride, so that
// each weight multiplies a contiguous range of a plane.
func (s *stage) reduceUnicast(dst Sink, workers int) {
	c := s.c
	p := s.newPhases()
	// A few more outputs than needed round the count up for the assembly kernels.
	outputs := (s.rows*p.width + 63) &^ 63
	forEachParallel(c.Cout, workers, func(next func() (int, bool)) {
		plane := make([]float32, p.size+outputs)
		acc := make([]float32, outputs)
		half := make([]float16.Float16, max(outputs, len(s.order), c.Win))
		wide, taps := make([]float32, len(s.order)), mac.NewTaps(1, len(s.order))
		for ch, ok := next(); ok; ch, ok = next() {
			c.Kernel.Taps(half[:len(wide)], c.Group, ch, s.pixel)
			taps.SetHalves(0, half, wide, c.Arithmetic)
			p.fillPlanes(s, plane, half, ch)
			start, post := s.newPost(ch)
			c.Arithmetic.ReduceRows(acc, plane, p.at, taps, start)
			post.Apply(half, acc)
			for y := range s.rows {
				s.writeRows(dst, half[y*p.width:][:c.Wout], ch, y*c.Wout)
			}
		}
	})
}

// phases describes how a source channel is copied to planes, one per position modulo the stride.
type phases struct {
	width  int   // distance between rows
	height int   // rows per phase
	size   int   // total size of all phases
	at     []int // offset of each tap, in stream order
}

// newPhases returns the layout of the planes into which source channels are split, one for each
// position modulo the stride.
func (s *stage) newPhases() phases {
	c := s.c
	p := phases{width: c.Wout + (c.Kw-1)/c.Sx, height: s.rows + (c.Kh-1)/c.Sy}
	p.size = min(c.Sy, c.Kh) * min(c.Sx, c.Kw) * p.width * p.height
	for _, t := range s.order {
		phase := t.y%c.Sy*min(c.Sx, c.Kw) + t.x%c.Sx
		p.at = append(p.at, (phase*p.height+t.y/c.Sy)*p.width+t.x/c.Sx)
	}
	return p
}

// fillPlanes copies channel ch to its planes as fp32, with zeros outside the source.
func (p *phases) fillPlanes(s *stage, plane []float32, scratch []float16.Float16, ch int) {
	c := s.c
	for py := range min(c.Sy, c.Kh) {
		for px := range min(c.Sx, c.Kw) {
			for i := range p.height {
				row := plane[:p.width]
				plane = plane[p.width:]
				if y := (s.first+i)*c.Sy + py - c.Py; y < s.top || y >= s.top+s.height {
					clear(row)
				} else {
					s.gatherRow(row, scratch, s.sourceRow(ch, y), px-c.Px)
				}
			}
		}
	}
}
