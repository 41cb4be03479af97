package lint

// checkRelocations adds findings for addresses of weights that have no relocation, and for relocations
// of other words. The engine itself reports neither.
func (s *state) checkRelocations() error {
	gaps, err := s.program.RelocationGaps()
	if err != nil {
		return err
	}
	for i := range gaps {
		g := &gaps[i]
		if g.Missing > 0 {
			s.addFinding(int32(g.Task), "KernelDMASrc.CoeffBaseAddr", Relocation, byRelocations, "weight addresses without a relocation: %d, the first of lane %d; they stay where they are if the constants move", g.Missing, g.Lane)
		}
		if g.Extra > 0 {
			s.addFinding(int32(g.Task), g.Field, Relocation, byRelocations, "relocations of words that are no weight addresses in use: %d, the first of %s", g.Extra, g.Field)
		}
	}
	return nil
}
