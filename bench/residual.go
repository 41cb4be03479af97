package bench

// A Residual compares a row with the model's estimate.
type Residual struct {
	Sample *Sample
	Time   Pair    // nanoseconds; the reference is 0 if no latency was published
	Engine float64 // engine's part of the model's time in nanoseconds
	Energy Pair    // nanojoules; the reference is 0 if no energy was published
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
