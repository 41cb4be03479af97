package anesim_test

import (
	"encoding/binary"

	"github.com/x448/float16"

	"anesim/hw/regs"
	"anesim/internal/datapath/mac"
	"anesim/loader"
)

// plainConvolution computes a dense or depthwise convolution without the model's kernel reader.
// Each output is one Dot, and a weight of a lane is found by the formula of the layout alone: fp16
// value q*K*g + k*g + n mod g.
func plainConvolution(p *loader.Program, t *regs.Task, in []float16.Float16) []float16.Float16 {
	g := &t.Groups
	c := &g.Common
	cc := c.ConvCfg
	cin, hin, win := int(c.Cin.Cin()), int(c.InDim.Hin()), int(c.InDim.Win())
	cout, hout, wout := int(c.Cout.Cout()), int(c.OutDim.Hout()), int(c.OutDim.Wout())
	kh, kw := int(cc.Kh()), int(cc.Kw())
	unicast := c.GroupConvCfg.UnicastEn()
	channels := cin
	if unicast {
		channels = 1
	}
	taps := channels * kh * kw
	bias := 0
	if g.NE.MACCfg.BiasMode() {
		bias = 1
	}
	width := 1
	for width*2*16 <= cout && width < 1<<cc.OCGSize() {
		width *= 2
	}
	half := func(lane, i int) float16.Float16 {
		addr := t.Bases.Kernel + uint64(g.KernelDMASrc.CoeffBaseAddr[lane].Bytes()) + 2*uint64(i)
		for _, s := range p.Segments {
			if addr >= s.Addr && addr-s.Addr+2 <= uint64(len(s.Data)) {
				return float16.Float16(binary.LittleEndian.Uint16(s.Data[addr-s.Addr:]))
			}
		}
		return 0
	}
	out := make([]float16.Float16, cout*hout*wout)
	x, w := make([]float16.Float16, taps), make([]float16.Float16, taps)
	for n := range cout {
		plane := n / width
		lane, at := plane%16, plane/16*width*(taps+bias)+n%width
		for k := range taps {
			w[k] = half(lane, at+(k+bias)*width)
		}
		rule := mac.H13
		rule.FullRange = taps == 1
		start := float32(0)
		if bias == 1 {
			start = half(lane, at).Float32()
		}
		for y := range hout {
			for xo := range wout {
				k := 0
				for ch := range channels {
					src := ch
					if unicast {
						src = n
					}
					for ky := range kh {
						for kx := range kw {
							iy, ix := y*int(cc.Sy())+ky-int(cc.Py()), xo*int(cc.Sx())+kx-int(cc.Px())
							x[k] = 0
							if iy >= 0 && iy < hin && ix >= 0 && ix < win {
								x[k] = in[(src*hin+iy)*win+ix]
							}
							k++
						}
					}
				}
				out[(n*hout+y)*wout+xo] = rule.DotBias(start, x[:k], w[:k])
			}
		}
	}
	return out
}
