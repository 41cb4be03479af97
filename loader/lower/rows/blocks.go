package rows

// BlockRows reports whether the compiler divides a matmul with the given number of rows into blocks
// because of that number alone. It does so for 16, 24 and 32 rows. In a public table, matmuls of 16
// and 32 rows have three tasks, whereas matmuls of 1, 8, 64 and 128 rows have two. The case of 24
// rows is inferred.
func BlockRows(rows int) bool { return rows >= 16 && rows <= 32 && rows%blockWidth == 0 }

// chooseBlockMatMuls decides which matmuls with constants work on blocks, eight rows at a time, and
// sets their Block. These are
//
//   - matmuls with 16 to 32 rows, see [BlockRows];
//   - matmuls with 16 to 64 rows, a multiple of 8, if a matmul that shares columns with them has more than 256 results and another matmul reads a result.
//
// The second rule holds in 5 of 5 chains: with 256 results there are no blocks, with 1024 there
// are. A matmul on its own has two tasks at 64 rows, and five after a layer norm.
func chooseBlockMatMuls(groups []Group) {
	// Matmuls that share columns form a set. Its first matmul represents it.
	set, from := make([]int, len(groups)), map[string]int{}
	var first func(i int) int
	first = func(i int) int {
		if set[i] != i {
			set[i] = first(set[i])
		}
		return set[i]
	}
	paired, pairs := map[string]bool{}, map[string]bool{} // inputs and results of matmuls of two tensors
	for i := range groups {
		set[i] = i
		switch g := &groups[i]; g.Kind {
		case Product:
			for _, name := range [...]string{g.Inputs[0], g.Output} {
				if k, ok := from[name]; ok {
					set[first(i)] = first(k)
				} else {
					from[name] = i
				}
			}
		case PairProduct:
			paired[g.Inputs[0]], paired[g.Inputs[1]], pairs[g.Output] = true, true, true
		}
	}
	type columns struct{ wide, row, behind bool }
	sets, multiplied := map[int]columns{}, findLeftSides(groups)
	for i := range groups {
		if g := &groups[i]; g.Kind == Product {
			s := sets[first(i)]
			s.wide = s.wide || g.Width > 256
			s.row = s.row || paired[g.Output] || paired[g.Inputs[0]] || pairs[g.Inputs[0]]
			s.behind = s.behind || multiplied[g.Output]
			sets[first(i)] = s
		}
	}
	for i := range groups {
		g, s := &groups[i], sets[first(i)]
		if g.Kind == Product && g.Rows > blockWidth && g.Rows <= 64 && g.Rows%blockWidth == 0 {
			g.Block = (BlockRows(g.Rows) || s.wide && s.behind) && !s.row
		}
	}
}

// findLeftSides returns the set of tensors that reach the left side of a matmul with constants,
// either directly or through elementwise operations.
func findLeftSides(groups []Group) map[string]bool {
	names := map[string]bool{}
	for i := len(groups) - 1; i >= 0; i-- {
		switch g := &groups[i]; g.Kind {
		case Product:
			names[g.Inputs[0]] = true
		case Binary, Scalar, Activation:
			for _, in := range g.Inputs {
				names[in] = names[in] || names[g.Output]
			}
		}
	}
	return names
}
