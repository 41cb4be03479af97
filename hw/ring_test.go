package hw

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"anesim/hw/regs"
)

// toRing and fromRing make tasks of a pair: the first leaves its rows in a ring of L2
// that the second reads.
func toRing(t *regs.Task, rows uint32) *regs.Task {
	resultToL2(t, 0x400)
	t.Groups.L2.ResultCfg = t.Groups.L2.ResultCfg.WithType(3)
	t.Groups.Common.TileCfg = t.Groups.Common.TileCfg.WithTileHeight(rows)
	return t
}

func fromRing(t *regs.Task) *regs.Task {
	firstFromL2(t, 0x400)
	t.Groups.L2.SourceCfg = t.Groups.L2.SourceCfg.WithType(3)
	return t
}

// add is a planar task that adds 1/2.
func addHalf(s shape) *regs.Task {
	t := newPlanar(regs.FormConstant, regs.PlanarAdd, s, s)
	t.Groups.PE.BiasScale = t.Groups.PE.BiasScale.WithBias(0x3800)
	return t
}

// TestPairBesideEachOther checks that a pair of overlapping tasks computes the values of the
// tasks run one after the other, for any number of rows in its ring. It takes the time of the
// slower task, not of both.
func TestPairBesideEachOther(t *testing.T) {
	s := shape{1, 5, 4}
	rows := [][]float32{{1, -2, 3, -4}, {5, 6, -7, 8}, {9, 10, 11, -12}, {-13, 14, 15, 16}, {17, -18, 19, 20}}
	relu := func() *regs.Task {
		p := newPass(s)
		p.Groups.NE.MACCfg = p.Groups.NE.MACCfg.WithNonlinearMode(regs.ReLU)
		return p
	}
	through := func(m func(*regs.Task, *regs.Task)) (*Device, [][]float32) {
		mem := newMemory(t)
		store(t, mem, firstAt, rows...)
		first, second := addHalf(s), relu()
		m(first, second)
		d := execute(t, mem, first, second)
		return d, load(t, mem, resultAt, 5, 4)
	}
	apart, want := through(func(a, b *regs.Task) {
		resultToL2(a, 0x400)
		firstFromL2(b, 0x400)
	})
	if want[0][0] != 1.5 || want[0][1] != 0 {
		t.Fatalf("relu(x + 0.5) is %v", want)
	}
	for _, height := range []uint32{1, 2, 5, 16} {
		d, got := through(func(a, b *regs.Task) {
			toRing(a, height)
			fromRing(b)
		})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("ring of %d rows (-want +got):\n%s", height, diff)
		}
		if together, one := d.Report().Cycles, apart.Report().Cycles; together >= one {
			t.Errorf("ring of %d rows: the pair takes %d cycles, one after the other %d", height, together, one)
		}
	}
}

// A ring that nobody reads, and one that nobody fills, are limits.
func TestHalfAPair(t *testing.T) {
	s := shape{1, 2, 2}
	for _, tc := range []struct {
		name  string
		tasks []*regs.Task
		at    int
		want  string
	}{
		{"the chain ends", []*regs.Task{toRing(addHalf(s), 1)}, 0, "does not read the ring"},
		{"another task follows", []*regs.Task{toRing(addHalf(s), 1), newPass(s)}, 0, "does not read the ring"},
		{"nothing before", []*regs.Task{fromRing(newPass(s))}, 0, "does not fill the ring"},
		{"a reduction", []*regs.Task{toRing(addHalf(s), 1), fromRing(newPlanar(regs.FormReduction, regs.PlanarAdd, s, s))}, 1, "want elementwise tasks on both sides"},
	} {
		d := New(newMemory(t), Options{Chip: M1(), Values: true, Workers: 1})
		for i, task := range tc.tasks {
			task.Index = i
			if d.Execute(task) {
				t.Fatalf("%s: %v", tc.name, d.Report().Faults)
			}
		}
		r := d.Report()
		if got := r.Descriptors[tc.at].Note(); !strings.Contains(got, tc.want) || r.Descriptors[tc.at].Computed {
			t.Errorf("%s: note %q, want %q", tc.name, got, tc.want)
		}
		for i := range r.Descriptors {
			if d := &r.Descriptors[i]; d.Computed || d.Note() == "" {
				t.Errorf("%s, descriptor %d: computed %v, note %q", tc.name, i, d.Computed, d.Note())
			}
		}
	}
}
