package sweep

// A Plane has the data for a plot of a front over its first two goals.
type Plane struct {
	X, Y      string
	All, Best [][2]float64
	Of        int
}

// Plane returns the first two goals of the front's designs and of a sample of all designs.
func (f *Front) Plane() Plane {
	two := func(goals []float64) [2]float64 { return [2]float64{goals[0], goals[1]} }
	p := Plane{X: f.goals[0].label(), Y: f.goals[1].label(), Of: f.cloud.seen}
	for _, goals := range f.cloud.points {
		p.All = append(p.All, two(goals))
	}
	for i := range f.designs {
		p.Best = append(p.Best, two(f.designs[i].goals))
	}
	return p
}

// maxCloud is the largest number of designs in a plot.
const maxCloud = 1 << 13

// A cloud is an even sample of designs: every step-th one. The step doubles whenever the
// sample grows beyond maxCloud.
type cloud struct {
	points [][]float64
	step   int
	seen   int
}

// addDesign counts a design and keeps its goals if it is in the sample.
func (c *cloud) addDesign(goals []float64) {
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
