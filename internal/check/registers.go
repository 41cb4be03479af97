package check

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"anesim/hw/regs"
	"anesim/internal/report"
)

// mostRegisters is the largest number of changed registers that a difference of the total lists.
const mostRegisters = 5

// collectRegisterChanges lists the registers that differ between the descriptors of each pair.
// everywhere lists the changes of all pairs, sorted by the number of pairs that have them; byLayer
// lists the changes in each layer, and each[i] those in pairs[i].
func collectRegisterChanges(pairs []pair) (everywhere []string, byLayer map[string][]string, each [][]string) {
	type change struct {
		text string
		n    int
	}
	var list []change
	at := map[string]int{}
	byLayer, each = map[string][]string{}, make([][]string, len(pairs))
	for i, p := range pairs {
		if p.want == nil || p.got == nil {
			continue
		}
		each[i] = RegisterChanges(p.want.Registers, p.got.Registers)
		for _, text := range each[i] {
			k, ok := at[text]
			if !ok {
				k = len(list)
				at[text], list = k, append(list, change{text, 0})
			}
			list[k].n++
			if l := p.got.Layer; l != "" && !slices.Contains(byLayer[l], text) {
				byLayer[l] = append(byLayer[l], text)
			}
		}
	}
	// What most descriptors share, such as another patch, is likely the cause, so it comes first.
	slices.SortStableFunc(list, func(a, b change) int { return cmp.Compare(b.n, a.n) })
	for i, c := range list {
		if i == mostRegisters {
			everywhere = append(everywhere, "and "+report.Plural(len(list)-i, "more register change"))
			break
		}
		if len(pairs) > 1 {
			c.text += fmt.Sprintf(" in %d of %d descriptors", c.n, len(pairs))
		}
		everywhere = append(everywhere, c.text)
	}
	return everywhere, byLayer, each
}

// IsAddress reports whether change, a line from [RegisterChanges], describes a change of an address
// in memory or L2, such as "KernelDMASrc.CoeffBaseAddr[0-15].Addr differ".
func IsAddress(change string) bool {
	name, _, _ := strings.Cut(change, " ")
	block, name, _ := strings.Cut(name, ".")
	name, _, _ = strings.Cut(name, ".")
	name, _, _ = strings.Cut(name, "[")
	return block != "" && slices.Contains([]string{"CoeffBaseAddr", "Src1Base", "Src2Base", "ResultBase", "DstBase"}, name)
}

// RegisterChanges compares two lists of register values, written like Descriptor.Registers. It
// returns a line for each register field that differs, such as "Common.TileCfg.TileHeight 0x20 ->
// 0x40". Changes in neighboring elements of an array of registers share a line.
func RegisterChanges(want, got string) []string {
	if want == got {
		return nil
	}
	a, b := parseRegisters(want), parseRegisters(got)
	var list fieldChanges
	for r := range regs.Registers() {
		x, y := a[r.Block+"."+r.Name], b[r.Block+"."+r.Name]
		rest := x ^ y
		if rest == 0 {
			continue
		}
		for _, f := range r.Fields {
			if f.Of(x) != f.Of(y) {
				list.addChange(&r, "."+f.Name, f.Of(x), f.Of(y))
				rest = f.With(rest, 0)
			}
		}
		if rest != 0 {
			list.addChange(&r, "", x, y)
		}
	}
	return list.describeChanges()
}

// A fieldChanges is a list of changed fields. Equal changes of neighbors in an array of registers
// are one element.
type fieldChanges []fieldChange

type fieldChange struct {
	array, field string // array is the register's name if it is not in an array
	first, last  int    // indices in the array, -1 for none
	from, to     uint32
	alike        bool // all changes have the same values
}

func (c *fieldChanges) addChange(r *regs.Register, field string, from, to uint32) {
	name, index := r.Block+"."+r.Name, -1
	if base, number, ok := strings.Cut(strings.TrimSuffix(name, "]"), "["); ok {
		if n, err := strconv.Atoi(number); err == nil {
			name, index = base, n
		}
	}
	for i := range *c {
		x := &(*c)[i]
		if index >= 0 && x.array == name && x.field == field && x.last == index-1 {
			x.last, x.alike = index, x.alike && x.from == from && x.to == to
			return
		}
	}
	*c = append(*c, fieldChange{name, field, index, index, from, to, true})
}

func (c fieldChanges) describeChanges() []string {
	var list []string
	for _, x := range c {
		name := x.array
		switch {
		case x.first < 0:
		case x.first == x.last:
			name = fmt.Sprintf("%s[%d]", name, x.first)
		default:
			name = fmt.Sprintf("%s[%d-%d]", name, x.first, x.last)
		}
		if x.alike {
			list = append(list, fmt.Sprintf("%s%s %#x -> %#x", name, x.field, x.from, x.to))
		} else {
			list = append(list, fmt.Sprintf("%s%s differ", name, x.field))
		}
	}
	return list
}
