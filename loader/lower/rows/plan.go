package rows

// BlockRows reports whether a product of so many rows works on blocks of eight pixels
// whatever its width: the compiler takes three tasks at 16 and 32 rows, in blocks two and
// four high, and two at 1, 8, 64 and 128 (counts of a public table; 24 is inferred).
func BlockRows(rows int) bool { return rows >= 16 && rows <= 32 && rows%blockWidth == 0 }

// plan chooses which products work on blocks: those of up to 32 rows, see [BlockRows], and
// those of up to 64, in eights, where one of the products that share columns has more than
// 256 results, so that the engines take 32 channels a pass, and another product takes them
// (5/5: 256 stay a row of pixels, 1024 do not; a product by itself is two tasks at 64 rows,
// and five behind a layer norm).
func planBlocks(groups []Group) {
	// Products of the same columns, or of another's, are a set: its first one stands for it.
	set, from := make([]int, len(groups)), map[string]int{}
	var first func(i int) int
	first = func(i int) int {
		if set[i] != i {
			set[i] = first(set[i])
		}
		return set[i]
	}
	paired, pairs := map[string]bool{}, map[string]bool{} // what products of two read and make
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

// multiplied are the tensors that are the left side of a product by constants, as they are
// or behind elementwise operations.
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

// ready brings what several groups read, and the first of them cannot keep, into the L2.
func (c *chain) loadShared(g *Group) bool {
	for k, name := range g.Inputs {
		v := c.values[name]
		if v == nil {
			return false
		}
		if v.mem == nil || v.rowTile != nil || c.reads[name] < 2 {
			continue
		}
		column := g.Kind == Product || g.Kind == PairProduct && k == 1 && g.Transposed
		if column && isReadAsColumns(c.uses[name]) || g.Kind == Norm || g.Kind == PairProduct && k == 0 || g.Kind == PairProduct && g.Inputs[0] == name {
			continue
		}
		c.copyToL2(v)
	}
	return true
}

// onlyColumns reports whether all that read a tensor are products of its columns.
func isReadAsColumns(uses []use) bool {
	for _, u := range uses {
		if g := u.group; g.Kind != Product && !(g.Kind == PairProduct && u.input == 1 && g.Transposed && g.Heads == 1) {
			return false
		}
	}
	return true
}
