package sweep

// A Plane holds designs as points of their first two goals: the labels of the axes, a
// sample of all designs, the designs of the front, and the number of all designs.
type Plane struct {
	X, Y      string
	All, Best [][2]float64
	Of        int
}

// Plane returns the designs by the front's first two goals.
func (f *Front) Plane() Plane {
	two := func(goals []float64) [2]float64 { return [2]float64{goals[0], goals[1]} }
	p := Plane{X: f.goals[0].label(), Y: f.goals[1].label(), Of: f.cloud.seen}
	for _, goals := range f.cloud.points {
		p.All = append(p.All, two(goals))
	}
	for i := range f.points {
		p.Best = append(p.Best, two(f.points[i].goals))
	}
	return p
}

// maxCloud is the maximum number of designs in a picture.
const maxCloud = 1 << 13

// A cloud is an even sample of any number of designs: every step-th one. step doubles when
// there are too many.
type cloud struct {
	points [][]float64
	step   int
	seen   int
}

func (c *cloud) add(goals []float64) {
	c.step = max(c.step, 1)
	if c.seen++; (c.seen-1)%c.step != 0 {
		return
	}
	if c.points = append(c.points, goals); len(c.points) <= maxCloud {
		return
	}
	c.step *= 2
	kept := c.points[:0]
	for i := 0; i < len(c.points); i += 2 {
		kept = append(kept, c.points[i])
	}
	c.points = kept
}
