package lower

import (
	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/layer"
)

// elementProduct is the operation of the MAC engines that multiplies channels in pairs
// (bytes: the one program of pow).
const elementProduct regs.MACOp = 10

// pow lowers x to the power z, 2^(z * log2 x), to three tasks of the MAC engines (1/1):
//
//	z --DMA--> even channels of a tile
//	x --DMA--> log2 --> odd channels
//	tile --products of channel pairs, 2^p--> y
//
// Weights.Table is that of log2, Weights.Tables[0] that of 2^x.
func (p *plan) pow() error {
	l, w := p.layer, p.weights
	if len(w.Tables) != 1 {
		return l.Wrong("%d tables, want 2", 1+len(w.Tables))
	}
	if l.Second != layer.Runtime || l.SecondShape != l.In {
		return l.Unsupported("the exponent is an input of x's shape; repeat it to %v with tile", l.In)
	}
	s := l.In
	in := regs.Shape{Groups: s.N, Channels: s.C, Height: s.H, Width: s.W}
	x, y := p.input("x", s), p.output("y", s)
	z := p.port("z", loader.Input, bar6, s, surface(bar6, s))
	one := in
	one.Groups = 1
	pairs := one
	pairs.Channels *= 2
	t := passTask(one)
	at := t.sourceTile()
	both := packed(pairs)
	if s.H > 1 || s.W == 1 {
		both = both.skewed(1, planarFetch)
	}
	bytes := both.row * s.H
	if bytes+at.row*s.H > p.maxTile() {
		return p.largePow(x, z, y)
	}
	// Every second channel.
	half := both
	half.channel *= 2
	for n := range s.N {
		exponent := passTask(one)
		exponent.source1(z.element(n), at.moved(bytes), false)
		even := exponent.leaves(half, bytes)
		p.add(exponent)

		logarithm := passTask(one)
		logarithm.source1(x.element(n), at.moved(bytes), false)
		if err := p.tabulate(logarithm, w.Table); err != nil {
			return err
		}
		odd := logarithm.leaves(half.moved(both.channel), bytes-both.channel)
		p.add(logarithm)

		t := engineTask(elementProduct, pairs, one)
		t.unicast()
		c := &t.g.Common
		c.GroupConvCfg = c.GroupConvCfg.WithUnicastCin(2).WithElemMultMode(true)
		c.DPE = c.DPE.WithCategory(2)
		t.engines(s.C)
		t.patch(one, true, nil)
		c.Cfg = c.Cfg.WithShPref(min(1, c.Cfg.ShMax())).WithShMin(min(1, c.Cfg.ShMax())) // 1/1
		if err := p.tabulate(t, w.Tables[0]); err != nil {
			return err
		}
		t.reads(odd, both)
		t.second = even
		t.writes(y.element(n), bytes)
		p.add(t)
	}
	return nil
}

// largePow is pow of tensors that the L2 does not hold: logarithm, product and power one
// after the other, through the scratch buffer (assumed).
func (p *plan) largePow(x, z, y memory) error {
	s := p.layer.In
	logarithm, product := p.intermediate(s), p.intermediate(s)
	return p.pieces(
		p.lookedUp(p.weights.Table, s, x, logarithm),
		piece{layer.Binary(layer.Mul, s, s), &layer.Weights{}, ports{"x": logarithm, "z": z, "y": product}},
		p.lookedUp(p.weights.Tables[0], s, product, y),
	)
}

// lookedUp passes a tensor through a table.
func (p *plan) lookedUp(table []byte, s layer.Shape, from, to memory) piece {
	return piece{layer.Layer{Op: layer.Sigmoid, In: s}, &layer.Weights{Table: table}, ports{"x": from, "y": to}}
}
