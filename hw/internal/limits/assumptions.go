package limits

import (
	"fmt"

	"anesim/hw/evidence"
	"anesim/hw/regs"
	"anesim/internal/datapath/tiles"
)

// Assumptions returns the unconfirmed assumptions on which the values of a task with registers g rest,
// if the model computes them.
func Assumptions(g *regs.Groups) []evidence.Limit {
	var list []evidence.Limit
	add := func(kind evidence.LimitKind, what string) {
		list = append(list, evidence.Limit{Kind: kind, What: what})
	}
	if g.Windowed() {
		add(evidence.RestsOnInference, "planar window is inferred, from the pool mode of later targets: no program shows one")
	}
	if g.Planar() {
		if f := g.Common.Cfg.PlanarForm(); f == regs.FormReduction && (g.PE.Cfg.OpMode() == regs.PlanarMax || g.PE.Cfg.OpMode() == regs.PlanarMin) {
			add(evidence.RestsOnAssumption, "OpMode is assumed to choose the reduction; programs set PE.Cfg.Maximum")
		}
		return list
	}
	if g.NE.MACCfg.OpMode() == regs.ChannelProduct {
		add(evidence.RestsOnInference, "MAC operation 10 is inferred to multiply neighboring channels, from the chain of a power")
	}
	if g.NE.MACCfg.OpMode() != regs.MultiplyAccumulate {
		return list
	}
	if g.TableInLanes() {
		add(evidence.RestsOnAssumption, "values assume that the activation table precedes the weights of a lane, which no program shows; if it does not, they are wrong")
	}
	// Programs of the compiler show dense weights and, for stride 2, zero-skipping ones. All other
	// packings are a reading of the registers alone.
	switch p, _ := tiles.PackingOf(g); p {
	case tiles.Dense:
	case tiles.ZeroSkipping:
		if cc := g.Common.ConvCfg; cc.Kw() != 1 || cc.Kh() != 1 {
			add(evidence.RestsOnInference, "order of the entries in zero-skipping weights of several taps is inferred: correct for programs lowered here, unproved for those of Apple's compiler")
		}
	default:
		add(evidence.RestsOnAssumption, fmt.Sprintf("layout of %v weights in a weight lane is assumed; no program shows it", p))
	}
	return list
}
