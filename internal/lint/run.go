package lint

// checkEndOfRun adds a finding if a run of descriptors ended while descriptor td still needed a
// value in L2. After the end of a run, another program may use the engine and its L2. The list from
// has the numbers of the values that td reads.
func (s *state) checkEndOfRun(td int32, from []int32) {
	for _, by := range from {
		v := &s.values[by]
		if v.l2 && v.kind != passing && v.td <= s.closed && s.closedTold != s.closed {
			s.closedTold = s.closed
			s.addFinding(s.closed, "Header.Control", Hint, byRuns, "closes a run (TSR and TSE), after which another program may use L2, but %v is still needed there: descriptor %d reads it", v, td)
		}
	}
}
