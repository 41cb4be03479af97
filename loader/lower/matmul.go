package lower

import (
	"anesim/hw/regs"
	"anesim/loader"

	"github.com/x448/float16"
)

// matmul lowers the product of a rows x k input and a constant matrix: the input's rows
// become channels, then a 1x1 convolution over one row of pixels writes rows again.
//
//	x [m][k] --DMA--> tile: m channels of k pixels
//	         pass-through, channel and x exchanged
//	                  tile: k channels of m pixels
//	         16 engines, a share of the n columns each, exchanged again --> y [m][n]
//
// The input is taken in parts of so many rows as both tiles fit the L2 (the examples
// take one part; more is assumed). Leading axes are more rows.
func (p *plan) matmul() error {
	l := p.layer
	rows, k, n := l.In.N*l.In.C*l.In.H, l.In.W, l.Columns
	// The result stands below the input.
	y := p.port("y", loader.Output, bar4, l.Out(), surface(bar4, l.Out()))
	x := p.port("x", loader.Input, bar5, l.In, surface(bar5, l.In))
	part := rows
	for part > 1 && productTiles(part, k) > MaxTile {
		part = (part + 1) / 2
	}
	if err := within(limit{"bytes of a row exchanged in the L2", productTiles(part, k), MaxTile,
		"split the reduction until they are at most %d and add the parts"}); err != nil {
		return err
	}
	for first := 0; first < rows; first += part {
		m := min(part, rows-first)
		src, dst := matrix(bar5, m, k), matrix(bar4, m, n)
		src.base, dst.base = uint32(first)*x.row, uint32(first)*y.row
		if err := p.product(m, k, n, src, dst); err != nil {
			return err
		}
	}
	return nil
}

// productTiles is the bytes of the two tiles of an exchange.
func productTiles(m, k int) int {
	return int(exchanged(m, k).row) + m*int(exchangeSource(m, k).channel)
}

// exchanged is the layout of a tile with k channels of m pixels that an exchange writes:
// 16 bytes more a channel where it would fill a power of two of banks (5/5).
func exchanged(m, k int) layout {
	l := packed(regs.Shape{Channels: k, Width: m})
	if w := uint32(m) * elementBytes; w == 128 || w == 256 {
		l.channel += 16
		l.row = l.channel * uint32(k)
		l.depth, l.group = l.row, l.row
	}
	return l
}

// exchangeSource is the layout of the tile an exchange reads: pieces of at most 128
// pixels (7/7).
func exchangeSource(m, k int) layout {
	return packed(regs.Shape{Channels: m, Width: min(k, 128)})
}

// product appends the tasks of m rows.
func (p *plan) product(m, k, n int, src, dst memory) error {
	l := p.layer
	before := regs.Shape{Groups: 1, Channels: m, Height: 1, Width: k}
	after := exchanged(m, k)
	staged := matrix(barScratch, k, m)
	staged.row = staged.plane
	p.scratch = max(p.scratch, staged.depth)

	prep := exchange(before)
	prep.source1(src, exchangeSource(m, k).moved(after.row), false)
	kept := prep.leavesScratch(after, after.row, staged)
	p.add(prep)

	shares := []share{{0, n}}
	if m > patchPixels {
		var err error
		if shares, err = splitChannels(n, k+biasRows(l.Bias)); err != nil {
			return err
		}
	}
	for i, s := range shares {
		in := regs.Shape{Groups: 1, Channels: k, Height: 1, Width: m}
		out := in
		out.Channels = s.channels
		t := engineTask(regs.MultiplyAccumulate, in, out)
		t.g.Common.Cfg = t.g.Common.Cfg.WithTranspose(true)
		t.engines(s.channels)
		t.patch(out, false, &Window{Kh: 1, Kw: 1, Sy: 1, Sx: 1})
		t.outputGroups(s.channels, false)
		if l.Bias {
			t.g.NE.MACCfg = t.g.NE.MACCfg.WithBiasMode(true)
		}
		if l.Activation == ReLU {
			t.activate(regs.ReLU)
		}
		if i == 0 {
			t.readsScratch(kept, staged)
		} else {
			t.reads(kept, kept.at)
		}
		p.attach(t, p.productKernel(s, m, k, n, 1<<t.g.Common.ConvCfg.OCGSize()))
		at := dst
		at.base += uint32(s.first) * elementBytes
		t.writes(at, after.row)
		p.add(t)
	}
	return nil
}

// exchange is a pass-through that makes pixels channels and channels pixels.
func exchange(in regs.Shape) *task {
	t := engineTask(regs.PassThrough, in, in)
	t.unicast()
	t.engines(in.Width) // the channels it writes (16/16)
	c := &t.g.Common
	c.Cfg = c.Cfg.WithTranspose(true)
	t.patch(in, true, nil)
	if in.Height == 1 && in.Channels <= 8 && in.Width > 128 {
		// Few enough pixels for the 16 bytes of a channel, and several pieces: a patch
		// 8 high is preferred (5/5).
		c.Cfg = c.Cfg.WithShMax(3).WithShPref(3)
	}
	return t
}

// productKernel packs the columns of a share. Above 128 rows a plane's reduction stays
// within 32768 halves.
func (p *plan) productKernel(s share, m, k, n, width int) *kernel {
	l, w := p.layer, p.weights
	for m > patchPixels && width > 1 && width*k > 32768 {
		width /= 2
	}
	f := filter{
		groups: 1, channels: s.channels, taps: k,
		weight: func(_, c, i int) float16.Float16 {
			if l.Op == Linear {
				return value(w.Filter, (s.first+c)*k+i)
			}
			return value(w.Filter, i*n+s.first+c)
		},
	}
	if l.Bias {
		f.bias = func(_, c int) float16.Float16 { return value(w.Bias, s.first+c) }
	}
	return f.pack(width)
}

// runtimeMatmul lowers the product of two inputs, a pair of tasks for each part of the
// left one's rows: the planar engine interleaves the rows as the engines read
// coefficients, then a 1x1 convolution over the right one's rows as channels.
//
//	x [m][k] --DMA--> planar copy --DMA, interleaved--> scratch
//	y [k][n] --DMA--> tile: k channels of n pixels --> engines --> result [m][n]
//	                                 scratch --coefficients--^
func (p *plan) runtimeMatmul() error {
	l := p.layer
	m, k, n := l.In.H, l.In.W, l.Columns
	right := Shape{l.In.N, l.In.C, k, n}
	// Result, right side, left side.
	result := p.port("y", loader.Output, bar4, l.Out(), surface(bar4, l.Out()))
	rhs := p.port("z", loader.Input, bar5, right, surface(bar5, right))
	lhs := p.port("x", loader.Input, bar6, l.In, surface(bar6, l.In))
	columns := n
	for columns > 32 && k*int(packed(regs.Shape{Channels: 1, Width: columns}).channel) > MaxTile {
		columns = (columns/2 + 31) &^ 31
	}
	if err := within(limit{"bytes of 32 columns in the L2", k * int(packed(regs.Shape{Channels: 1, Width: columns}).channel), MaxTile,
		"split the reduction until they are at most %d and add the parts"}); err != nil {
		return err
	}
	for b := range l.In.N * l.In.C {
		for first := 0; first < m; {
			rows := runtimeRows(m-first, k, min(n, columns))
			if err := within(limit{"bytes of the left side's rows in the L2", rows * int(packed(regs.Shape{Channels: 1, Width: k}).channel), MaxTile,
				"split the reduction until they are at most %d and add the parts"}); err != nil {
				return err
			}
			part := matrix(bar6, rows, k)
			part.base = uint32(b)*lhs.plane + uint32(first)*lhs.row
			lanes := p.interleave(part, rows, k)
			for c := 0; c < n; c += columns {
				width := min(columns, n-c)
				src, dst := matrix(bar5, k, n), matrix(bar4, rows, n)
				src.base = uint32(b)*rhs.plane + uint32(c)*elementBytes
				dst.base = uint32(b)*result.plane + uint32(first)*result.row + uint32(c)*elementBytes
				p.multiply(src, dst, lanes, rows, k, width)
			}
			first += rows
		}
	}
	return nil
}

// runtimeRows is how many rows of the left side one pair takes: so many that each engine
// holds one plane of up to 8 of them (4 in the one example of 64 rows).
func runtimeRows(m, k, columns int) int {
	if m < engines {
		return m
	}
	most := 8
	if columns > patchPixels {
		for most > 1 && most*k*elementBytes > MaxLane {
			most /= 2
		}
	}
	each := 1
	for 2*each <= min(most, m/engines) {
		each *= 2
	}
	return each * engines
}

const (
	scratchWrite  = 3 << 8 // DMA configuration of a destination that is coefficients (1/1)
	maxInterleave = 8
)

// interleave copies rows of the left side into the scratch buffer, the rows of an engine
// side by side, and returns where each engine finds its own.
func (p *plan) interleave(src memory, rows, k int) []lane {
	in := regs.Shape{Groups: 1, Channels: rows, Height: 1, Width: k}
	each := max(1, rows/engines)
	dst := memory{bar: barScratch, plane: roundUp(uint32(each*k)*elementBytes, 64)}
	dst.row = dst.plane
	dst.depth = dst.plane * uint32(rows/each)
	dst.group = dst.depth
	p.scratch = max(p.scratch, dst.depth)
	t := planarTask(regs.FormConstant, in, in)
	at := packed(in)
	t.source1(src, at, false)
	t.writes(dst, at.row)
	d := &t.g.TileDMADst
	d.DstDMAConfig |= scratchWrite
	d.DstFmt = d.DstFmt.WithInterleave(uint32(each))
	t.g.L2.ResultCfg = t.g.L2.ResultCfg.WithDMAIntl(uint32(each))
	p.add(t)
	lanes := make([]lane, rows/each)
	for i := range lanes {
		lanes[i] = lane{uint32(i) * dst.plane, dst.plane}
	}
	return lanes
}

// multiply is the convolution whose coefficients stand in the scratch buffer.
func (p *plan) multiply(src, dst memory, lanes []lane, rows, k, n int) {
	in := regs.Shape{Groups: 1, Channels: k, Height: 1, Width: n}
	out := in
	out.Channels = rows
	t := engineTask(regs.MultiplyAccumulate, in, out)
	t.engines(rows)
	t.patch(out, false, &Window{Kh: 1, Kw: 1, Sy: 1, Sx: 1})
	t.outputGroups(rows, false)
	t.kernel(0, lanes)
	t.h.KernelBases = t.h.KernelBases.WithKBase0(barScratch)
	t.g.NE.KernelCfg = t.g.NE.KernelCfg.WithKernelFromScratch(true)
	if p.layer.Activation == ReLU {
		t.activate(regs.ReLU)
	}
	at := packed(in)
	t.source1(src, at, false)
	t.writes(dst, at.row)
	p.add(t)
}
