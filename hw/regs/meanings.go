package regs

// Meanings holds what a task does that each generation of the engine says in its own way. Whoever
// fills the registers of a task sets it: [File.Snapshot] for a stream, and [Groups.ReadMeanings]
// for registers made by hand. Units ask for meanings, by methods of [Groups] such as
// [Groups.Source1On], and not for the fields behind them.
type Meanings struct {
	LoadsSource1, LoadsSource2 bool // the tile DMA reads the source from device memory

	// OnEngines says that the task runs on the MAC engines, and not on the planar engine alone.
	OnEngines bool

	// TableStream says that the activation table has a stream of its own. Otherwise each weight
	// stream begins with the table.
	TableStream bool
}

// ReadMeanings sets g.Meanings from the words of the M1, whose activation tables never have a stream
// of their own. Call it after setting words that tell where a source is read from or what the task
// runs on.
func (g *Groups) ReadMeanings() {
	g.Meanings = Meanings{
		LoadsSource1: g.TileDMASrc.Src1DMAConfig.DepMode() != 0,
		LoadsSource2: g.TileDMASrc.Src2DMAConfig.DepMode() != 0,
		OnEngines:    g.Common.TaskInfo.TaskNID() != 0,
	}
}

// Source1On reports whether the task reads source 1 from device memory.
func (g *Groups) Source1On() bool { return g.LoadsSource1 }

// Source2On reports whether the task reads source 2 from device memory.
func (g *Groups) Source2On() bool { return g.LoadsSource2 }

// Planar reports whether the task runs only on the planar engine and not on the MAC engines.
func (g *Groups) Planar() bool { return !g.OnEngines }

// Windowed reports whether a task of the planar engine has a window of its source for each element
// of its result.
func (g *Groups) Windowed() bool {
	w := g.Common.ConvCfg
	return g.Planar() && g.Common.Cfg.PlanarForm() == FormConstant && g.PE.Cfg.Maximum() &&
		(w.Kh() != 1 || w.Kw() != 1 || w.Sy() != 1 || w.Sx() != 1 || w.Py() != 0 || w.Px() != 0)
}

// TableInLanes reports whether the task has an activation table that precedes the weights in each
// weight stream, or stands there alone.
func (g *Groups) TableInLanes() bool {
	return !g.TableStream && g.NE.MACCfg.NonlinearMode() == ActivationTable
}
