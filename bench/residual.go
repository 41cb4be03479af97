package bench

// A Residual is a row beside the model's word on it.
type Residual struct {
	Sample *Sample
	Time   Pair    // nanoseconds; the reference is 0 when no latency was published
	Engine float64 // of the model's nanoseconds, the engine's
	Energy Pair    // nanojoules; the reference is 0 when no energy was published
}

func (p *Presets) residual(s *Sample) Residual {
	e := p.Estimate(s)
	return Residual{
		Sample: s,
		Time:   Pair{float64(e.Wall()), s.Row.Latency * 1e3},
		Engine: float64(e.Engine),
		Energy: Pair{float64(e.Energy), s.Row.Energy * 1e6},
	}
}
