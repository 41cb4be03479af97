package tiles

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/x448/float16"
)

// plane is a tensor of rows.
type plane struct {
	h, w int
	data []float16.Float16
}

func (p *plane) Row(dst []float16.Float16, c, y int) { copy(dst, p.data[(c*p.h+y)*p.w:]) }

// TestZeros compares the count of zeros with a walk over every product, for any window of which all
// or some rows and columns are needed.
func TestZeros(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	for range 300 {
		c := Convolution{
			Cin: 1 + r.IntN(4), Hin: 1 + r.IntN(7), Win: 1 + r.IntN(9), Cout: 1 + r.IntN(5),
			Kh: 1 + r.IntN(3), Kw: 1 + r.IntN(3), Sy: 1 + r.IntN(2), Sx: 1 + r.IntN(2), Py: r.IntN(2), Px: r.IntN(2),
			Unicast: r.IntN(3) == 0, Pixels: 1,
		}
		if c.Unicast {
			c.Cout = c.Cin
		}
		c.Hout, c.Wout = (c.Hin+c.Py)/c.Sy+1, (c.Win+c.Px)/c.Sx+1
		p := &plane{c.Hin, c.Win, make([]float16.Float16, c.Cin*c.Hin*c.Win)}
		for i := range p.data {
			if r.IntN(2) == 0 {
				p.data[i] = float16.Fromfloat32(1)
			} else if r.IntN(4) == 0 {
				p.data[i] = 0x8000 // minus zero
			}
		}
		rows, columns := slices.Repeat([]bool{true}, c.Kh), slices.Repeat([]bool{true}, c.Kw)
		if r.IntN(2) == 0 {
			rows, columns = randomMarks(r, c.Kh), randomMarks(r, c.Kw)
			if countTrue(rows)*countTrue(columns) > 0 {
				c.Needed = &Window{Rows: rows, Columns: columns}
			} else {
				rows, columns = slices.Repeat([]bool{true}, c.Kh), slices.Repeat([]bool{true}, c.Kw)
			}
		}
		want := uint64(0)
		for o := range c.Cout {
			for y := range c.Hout {
				for x := range c.Wout {
					for ch := range c.Cin {
						if c.Unicast && ch != o {
							continue
						}
						for ky := range c.Kh {
							for kx := range c.Kw {
								sy, sx := y*c.Sy-c.Py+ky, x*c.Sx-c.Px+kx
								if !rows[ky] || !columns[kx] {
									continue
								}
								if sy < 0 || sy >= c.Hin || sx < 0 || sx >= c.Win || p.data[(ch*c.Hin+sy)*c.Win+sx]&0x7fff == 0 {
									want++
								}
							}
						}
					}
				}
			}
		}
		if got := c.Zeros(p); got != want {
			t.Fatalf("%+v: %d, want %d", c, got, want)
		}
	}
}
