package rows

// mostBlockRows is the largest number of rows of a matmul that works on blocks. Those of 128 rows
// fill a patch of the array without them.
const mostBlockRows = 64

// UsesBlocks reports whether the compiler divides a matmul of the given number of rows, of k values
// each, into blocks of eight rows because of its shape: if there are 16 to 64 rows, a multiple of
// eight, and n result columns or more, which are k at 32 rows and four times as many at 64:
//
//	rows          16        32        32      64      64      64
//	n of k        1, 4      1, 4      1/2     1/2, 1  2       4
//	tasks         3         3         2       2       2       3
//	programs      3         3         1       4       2       1
//
// Other numbers of rows are inferred: n grows with their square. The five chains of matmuls of 64
// rows agree if one of their matmuls decides for all.
func UsesBlocks(rows, k, n int) bool {
	return rows > blockWidth && rows <= mostBlockRows && rows%blockWidth == 0 && uint64(rows*rows)*uint64(k) <= 32*32*uint64(n)
}

// chooseBlockMatMuls decides which matmuls with constants work on blocks, and sets their Block. If
// one does, so do those that share columns with it, unless a matmul of two tensors reads or writes
// the columns.
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
	type columns struct{ blocks, row bool }
	sets := map[int]columns{}
	for i := range groups {
		if g := &groups[i]; g.Kind == Product {
			s := sets[first(i)]
			s.blocks = s.blocks || UsesBlocks(g.Rows, g.Layer.In.W, g.Width)
			s.row = s.row || paired[g.Output] || paired[g.Inputs[0]] || pairs[g.Inputs[0]]
			sets[first(i)] = s
		}
	}
	for i := range groups {
		if g := &groups[i]; g.Kind == Product {
			s := sets[first(i)]
			g.Block = s.blocks && !s.row
		}
	}
}
