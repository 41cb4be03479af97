package l2

import (
	"testing"

	"github.com/x448/float16"

	"anesim/hw/regs"
)

// layouts are rows of 32 elements that use different banks, and rows that share one: a multiple of
// banks times granules apart.
var layouts = []struct {
	name string
	row  uint32
}{
	{"skewed", 0x50},
	{"conflicts", 0x400},
}

func BenchmarkRow(b *testing.B) {
	shape := regs.Shape{Groups: 1, Channels: 64, Height: 32, Width: 32}
	row := make([]float16.Float16, shape.Width)
	for _, l := range layouts {
		v, err := New(m1.Bytes).View(regs.Tile{Row: l.row, Channel: 32 * l.row}, shape, 0, 0)
		if err != nil {
			b.Fatal(err)
		}
		for _, way := range []struct {
			name string
			run  func(c, y int)
		}{
			{"read", func(c, y int) { v.Row(row, c, y) }},
			{"write", func(c, y int) { v.SetRow(row, c, y, 0) }},
		} {
			b.Run(l.name+"/"+way.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					for c := range shape.Channels {
						for y := range shape.Height {
							way.run(c, y)
						}
					}
				}
				b.ReportMetric(4*float64(shape.Elements())*float64(b.N)/b.Elapsed().Seconds()/1e9, "GB/s")
			})
		}
	}
}

// BenchmarkCycles counts the cycles of a window, which costs more where rows share a bank.
func BenchmarkCycles(b *testing.B) {
	for _, l := range layouts {
		w := Window{Patch: Patch{Rows: 10, Width: 18, Stride: l.row}, Columns: 16, Step: 1}
		b.Run(l.name, func(b *testing.B) {
			b.ReportAllocs()
			cycles := 0
			for b.Loop() {
				cycles = m1.Cycles(w, false)
			}
			b.ReportMetric(float64(cycles), "cycles")
		})
	}
}

// TestLayoutsOfBenchmarks holds the two layouts to their names.
func TestLayoutsOfBenchmarks(t *testing.T) {
	for _, l := range layouts {
		conflicts := m1.conflictDepth(8, l.row) > 1
		if want := l.name == "conflicts"; conflicts != want {
			t.Errorf("rows %#x bytes apart: conflicts %v, want %v", l.row, conflicts, want)
		}
	}
}
