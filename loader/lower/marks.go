package lower

import "slices"

// Touched are the stretches that tasks touched last, of every buffer apart from each other
// and ascending.
type touched map[uint32][]mark

// A mark is a stretch that a task touched.
type mark struct {
	from, to int64
	task     int
	kernel   bool // by its kernel DMA, not its tile DMA
}

// reads marks what a task's DMAs read.
func (b touched) reads(m *move, task int) {
	for k, s := range m.source {
		if m.on[k] {
			b.replace(s, mark{s.from, s.to, task, false})
		}
	}
	b.replace(m.kernel, mark{m.kernel.from, m.kernel.to, task, true})
}

func (b touched) clear(s stretch) { b.replace(s) }

// last is the mark of the latest task on any of a stretch, of its kernel DMA where both its
// DMAs were there, nil where there is none.
func (b touched) last(s stretch) *mark {
	var late *mark
	list := b[s.bar]
	for first, end := meeting(list, s); first < end; first++ {
		if k := &list[first]; late == nil || k.task > late.task || k.task == late.task && k.kernel {
			late = k
		}
	}
	return late
}

// replace puts marks in place of those on a stretch. What of these is beyond it stays.
func (b touched) replace(s stretch, with ...mark) {
	if s.from >= s.to {
		return
	}
	list := b[s.bar]
	first, end := meeting(list, s)
	if first < end {
		if k := list[first]; k.from < s.from {
			k.to = s.from
			with = append([]mark{k}, with...)
		}
		if k := list[end-1]; k.to > s.to {
			k.from = s.to
			with = append(with, k)
		}
	}
	b[s.bar] = slices.Replace(list, first, end, with...)
}

// meeting is the marks from one up to another without it that meet a stretch.
func meeting(list []mark, s stretch) (first, end int) {
	if s.from >= s.to {
		return 0, 0
	}
	first, _ = slices.BinarySearchFunc(list, s.from, func(k mark, at int64) int {
		if k.to <= at {
			return -1
		}
		return 1
	})
	end = first
	for end < len(list) && list[end].from < s.to {
		end++
	}
	return first, end
}
