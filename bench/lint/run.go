package lint

// checkRunEnds reports a run that ended although a value that was in the L2 then is still needed:
// descriptor td reads the values with the numbers in from. After the end of a run another program
// may use the engine, and with it the L2.
func (s *state) checkRunEnds(td int32, from []int32) {
	for _, by := range from {
		v := &s.values[by]
		if v.l2 && v.kind != passing && v.td <= s.closed && s.closedTold != s.closed {
			s.closedTold = s.closed
			s.addFinding(s.closed, "Header.Control", Hint, byRuns, "closes a run (TSR and TSE), after which another program may use the L2, but %v is still needed there: td %d reads it", v, td)
		}
	}
}
