package check

// A pair holds a descriptor of the baseline and the corresponding one of the current result. One of
// them is nil if the other side has no such descriptor.
type pair struct {
	want, got     *Descriptor
	wantAt, gotAt int
}

// maxAligned is the largest number of descriptors that are paired by content. In longer chains,
// descriptors are paired by position.
const maxAligned = 4096

// pairDescriptors pairs the descriptors of two chains and returns the pairs in order. It first
// pairs descriptors with equal registers at the start and the end of the chains.
func pairDescriptors(want, got []Descriptor) []pair {
	head := 0
	for head < len(want) && head < len(got) && want[head].Registers == got[head].Registers {
		head++
	}
	tail := 0
	for tail < len(want)-head && tail < len(got)-head && want[len(want)-1-tail].Registers == got[len(got)-1-tail].Registers {
		tail++
	}
	var list []pair
	for i := range head {
		list = append(list, pair{&want[i], &got[i], i, i})
	}
	list = append(list, pairMiddleDescriptors(want, got, head, tail)...)
	for i := tail; i > 0; i-- {
		a, b := len(want)-i, len(got)-i
		list = append(list, pair{&want[a], &got[b], a, b})
	}
	return list
}

// pairMiddleDescriptors pairs the descriptors of want and got, except for the first head and the
// last tail ones, which are equal. It forms as many pairs of the same operation as possible and
// prefers pairs with equal registers. If both sides have the same number of descriptors, it pairs
// them by position.
func pairMiddleDescriptors(want, got []Descriptor, head, tail int) []pair {
	a, b := want[head:len(want)-tail], got[head:len(got)-tail]
	if len(a) == len(b) || len(a) > maxAligned || len(b) > maxAligned {
		var list []pair
		for i := range max(len(a), len(b)) {
			p := pair{wantAt: head + i, gotAt: head + i}
			if i < len(a) {
				p.want = &a[i]
			}
			if i < len(b) {
				p.got = &b[i]
			}
			list = append(list, p)
		}
		return list
	}
	// best[i][j] is the score of a[i:] with b[j:].
	best := make([][]int32, len(a)+1)
	for i := range best {
		best[i] = make([]int32, len(b)+1)
	}
	score := func(i, j int) int32 {
		// Equal registers count four times, so that one such pair outweighs up to three pairs that only
		// share an operation and would shift the descriptors against each other.
		switch {
		case a[i].Registers == b[j].Registers:
			return 4
		case sameOperation(a[i].Op, b[j].Op):
			return 1
		}
		return 0
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			best[i][j] = max(best[i+1][j], best[i][j+1])
			if s := score(i, j); s > 0 {
				best[i][j] = max(best[i][j], s+best[i+1][j+1])
			}
		}
	}
	var list []pair
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && score(i, j) > 0 && best[i][j] == score(i, j)+best[i+1][j+1]:
			list = append(list, pair{&a[i], &b[j], head + i, head + j})
			i, j = i+1, j+1
		case i < len(a) && (j == len(b) || best[i][j] == best[i+1][j]):
			list = append(list, pair{want: &a[i], wantAt: head + i})
			i++
		default:
			list = append(list, pair{got: &b[j], gotAt: head + j})
			j++
		}
	}
	return list
}

// sameOperation reports whether a descriptor of the baseline with the operation want may be the one
// with the operation got. Older baselines call every task of the MAC engines without weights a pass.
func sameOperation(want, got string) bool {
	if want != "pass" {
		return want == got
	}
	switch got {
	case "copy", "transpose", "interleave", "regroup", "product":
		return true
	}
	return false
}
