package task

import "anesim/hw/regs"

// Words of unknown meaning. Their values are those of the compiler's programs.
var (
	sourceWord16  = regs.FromRaw[regs.Word](0x100)
	laneTailFirst = regs.FromRaw[regs.Word](0x80) // words 50-53 of KernelDMASrc
	laneTailLast  = regs.FromRaw[regs.Word](0x40) // words 58-61, in programs of compilers since 2023
)

// blankRegisters returns the registers that every task starts from: fp16 input and output, one
// group, a 1x1 window, and all DMA disabled. The compiler's own descriptors have these
// values (seen in 104 of 104).
func blankRegisters() (g regs.Groups) {
	k := &g.KernelDMASrc
	for i := range k.CoeffDMAConfig {
		k.CoeffDMAConfig[i] = k.CoeffDMAConfig[i].WithCacheHint(2)
	}
	for i := range 4 {
		k.CoeffTail[i], k.CoeffTail[8+i] = laneTailFirst, laneTailLast
	}
	c := &g.Common
	c.Cfg = c.Cfg.WithBase(true)
	c.InDepth, c.OutDepth = c.InDepth.WithDin(1), c.OutDepth.WithDout(1)
	c.Reserved08 = c.Reserved08.WithKd(1).WithSz(1).WithOz(1)
	c.ChCfg = c.ChCfg.WithInFmt(regs.FormatFP16).WithOutFmt(regs.FormatFP16)
	c.ConvCfg = c.ConvCfg.WithKw(1).WithKh(1).WithSx(1).WithSy(1).WithOx(1).WithOy(1)
	c.GroupConvCfg = c.GroupConvCfg.WithNumGroups(1).WithUnicastCin(1)

	s := &g.TileDMASrc
	off := regs.SrcDMAConfig{}.WithCacheHint(8).WithCHReuse(8).WithCHNoReuse(8)
	s.Src1DMAConfig, s.Src2DMAConfig = off, off
	s.Src1Fmt = s.Src1Fmt.WithInterleave(1)
	s.Reserved16 = sourceWord16

	d := &g.TileDMADst
	d.DstDMAConfig = d.DstDMAConfig.WithCacheHint(12)
	d.DstFmt = d.DstFmt.WithInterleave(1)

	g.NE.KernelCfg = g.NE.KernelCfg.WithPalBits(8)
	g.NE.MACCfg = g.NE.MACCfg.WithB20(true)
	return g
}
