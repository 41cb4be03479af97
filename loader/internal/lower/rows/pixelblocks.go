package rows

import (
	"slices"
)

// ChoosePixelBlocks decides which convolutions of groups read blocks and which results stay in blocks,
// and sets FromBlocks and Block of the groups.
//
// A convolution reads blocks if a matmul of its shape does, see [UsesBlocks], or one with which it
// shares them (seen in 1 of 1 programs); others read columns, as single convolutions do (inferred). A
// result stays in blocks if all its readers are convolutions that do, or element by element with results
// that stay.
func ChoosePixelBlocks(groups []Group, results []string) {
	makers, uses := map[string]*Group{}, findUses(groups)
	for i := range groups {
		g := &groups[i]
		makers[g.Output] = g
		g.Block = g.Kind != ChannelMean && len(uses[g.Output]) > 0 && g.Rows%blockWidth == 0 && g.Rows > blockWidth && !slices.Contains(results, g.Output)
	}
	for changed := true; changed; {
		changed = false
		for i := range groups {
			if g := &groups[i]; g.Block && !g.canStayInBlocks(makers, uses[g.Output]) {
				g.Block, changed = false, true
			}
		}
	}
	// Groups that share blocks form a set. Its first product that uses blocks decides for all.
	set := map[*Group]*Group{}
	var first func(g *Group) *Group
	first = func(g *Group) *Group {
		if up := set[g]; up != nil {
			top := first(up)
			set[g] = top
			return top
		}
		return g
	}
	join := func(a, b *Group) {
		if a, b = first(a), first(b); a != b {
			set[a] = b
		}
	}
	inputs := map[string]*Group{} // a product that reads a tensor
	for i := range groups {
		g := &groups[i]
		for _, in := range g.Inputs {
			if m := makers[in]; m != nil && m.Block {
				join(g, m)
			}
		}
		if g.Kind == Product {
			if p := inputs[g.Inputs[0]]; p != nil {
				join(g, p)
			}
			inputs[g.Inputs[0]] = g
		}
	}
	blocks := map[*Group]bool{}
	for i := range groups {
		g := &groups[i]
		if g.Kind == Product && g.Rows%blockWidth == 0 && UsesBlocks(g.Rows, g.Layer.In.W, g.Width) {
			blocks[first(g)] = true
		}
	}
	for i := range groups {
		g := &groups[i]
		g.Block = g.Block && blocks[first(g)]
		g.FromBlocks = g.Kind == Product && blocks[first(g)]
	}
}

// canStayInBlocks reports whether the result of g can stay in blocks, given which others do.
func (g *Group) canStayInBlocks(makers map[string]*Group, uses []use) bool {
	for _, u := range uses {
		if u.group.Kind != Product && !u.group.Block {
			return false
		}
	}
	if g.Kind == Product {
		return true
	}
	for _, in := range g.Inputs {
		if m := makers[in]; m == nil || !m.Block {
			return false
		}
	}
	return true
}
