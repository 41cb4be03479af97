package lower

// plan chooses which products work on blocks: those of up to 32 rows, see blockRows, and
// those of up to 64, in eights, where one of the products that share columns has more than
// 256 results, so that the engines take 32 channels a pass, and another product takes them
// (5/5: 256 stay a row of pixels, 1024 do not; a product by itself is two tasks at 64 rows,
// and five behind a layer norm).
func (c *rowChain) plan() {
	// Products of the same columns, or of another's, are a set: its first one stands for it.
	set, from := make([]int, len(c.groups)), map[string]int{}
	var first func(i int) int
	first = func(i int) int {
		if set[i] != i {
			set[i] = first(set[i])
		}
		return set[i]
	}
	paired, pairs := map[string]bool{}, map[string]bool{} // what products of two read and make
	for i := range c.groups {
		set[i] = i
		switch g := &c.groups[i]; g.kind {
		case rowProduct:
			for _, name := range [...]string{g.inputs[0], g.output} {
				if k, ok := from[name]; ok {
					set[first(i)] = first(k)
				} else {
					from[name] = i
				}
			}
		case rowProduct2:
			paired[g.inputs[0]], paired[g.inputs[1]], pairs[g.output] = true, true, true
		}
	}
	type columns struct{ wide, row, behind bool }
	sets, multiplied := map[int]columns{}, c.multiplied()
	for i := range c.groups {
		if g := &c.groups[i]; g.kind == rowProduct {
			s := sets[first(i)]
			s.wide = s.wide || g.width > 256
			s.row = s.row || paired[g.output] || paired[g.inputs[0]] || pairs[g.inputs[0]]
			s.behind = s.behind || multiplied[g.output]
			sets[first(i)] = s
		}
	}
	for i := range c.groups {
		g, s := &c.groups[i], sets[first(i)]
		if g.kind == rowProduct && g.rows > blockWidth && g.rows <= 64 && g.rows%blockWidth == 0 {
			g.block = (blockRows(g.rows) || s.wide && s.behind) && !s.row
		}
	}
}

// multiplied are the tensors that are the left side of a product by constants, as they are
// or behind elementwise operations.
func (c *rowChain) multiplied() map[string]bool {
	names := map[string]bool{}
	for i := len(c.groups) - 1; i >= 0; i-- {
		switch g := &c.groups[i]; g.kind {
		case rowProduct:
			names[g.inputs[0]] = true
		case rowBinary, rowScalar, rowActivation:
			for _, in := range g.inputs {
				names[in] = names[in] || names[g.output]
			}
		}
	}
	return names
}

// ready brings what several groups read, and the first of them cannot keep, into the L2.
func (c *rowChain) ready(g *rowGroup) bool {
	for k, name := range g.inputs {
		v := c.values[name]
		if v == nil {
			return false
		}
		if v.mem == nil || v.nat != nil || c.reads[name] < 2 {
			continue
		}
		column := g.kind == rowProduct || g.kind == rowProduct2 && k == 1 && g.turned
		if column && c.onlyColumns(name) || g.kind == rowNorm || g.kind == rowProduct2 && k == 0 || g.kind == rowProduct2 && g.inputs[0] == name {
			continue
		}
		c.natural(v)
	}
	return true
}

// onlyColumns reports whether all that read a tensor are products of its columns.
func (c *rowChain) onlyColumns(name string) bool {
	for _, u := range c.uses[name] {
		if g := u.group; g.kind != rowProduct && !(g.kind == rowProduct2 && u.input == 1 && g.turned && g.heads == 1) {
			return false
		}
	}
	return true
}
