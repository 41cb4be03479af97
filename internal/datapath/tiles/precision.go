package tiles

import (
	"math"

	"github.com/x448/float16"

	"anesim/internal/datapath/mac"
)

// Weights may be scaled by the powers of two from 2^leastShift to 2^mostShift.
const (
	leastShift = -4
	mostShift  = 20
	shiftCount = mostShift - leastShift + 1
)

const (
	// sampledProducts is about the number of products, for all parts of a task together, that a
	// [Precision] examines. That needs from 30 ms to, for a single row of results, 0.3 s.
	sampledProducts = 1 << 20

	// An output channel gives leastPixels results to the sample, if it is in it at all, and at most
	// mostPixels.
	leastPixels = 64
	mostPixels  = 1024

	// maxHalf is the largest number of fp16.
	maxHalf = 65504

	// negligible is an error of sums, squared and relative, that rounding to fp16 hides. The square of
	// fp16's own error is some hundred times as large.
	negligible = 0x1p-31

	// headroom is the factor by which sums of scaled weights must stay below the limit. The
	// sample may lack the largest sum, and other inputs may have larger ones. It also keeps sums out of
	// the region of 4096 to a factor of two.
	headroom = 4
)

// A Precision says how far the results of a multiply-accumulate are from exact ones. It looks at a
// sample of the results, before ReLU or an activation table, and weights them equally. The sample
// depends on the shape of the task only. The last digits of the errors also depend on the height of tiles.
type Precision struct {
	Results, Sampled uint64 // results, and those in the sample

	Products uint64 // of the sample, with two operands that are not zero
	Dropped  uint64 // of Products, those that become 0 because their exponents are too small together
	Vanished uint64 // of Products, those that become 0 because they round to it

	// Largest is the largest magnitude of an exact partial sum in the sample, before the task's scale.
	// Limited reports whether a sum of [mac.Limit] would become infinite.
	Largest float64
	Limited bool

	weight float64             // largest magnitude of a weight
	exact  float64             // sum of the squares of the exact results
	fp16   float64             // sum of the squares of the errors of exact results rounded to fp16
	errors [shiftCount]float64 // sums of the squares of the errors if weights are scaled by 2^(leastShift+i)
}

// Add adds the figures of another task, for instance one that computes other channels of a layer.
func (p *Precision) Add(q *Precision) {
	p.Results += q.Results
	// A task that has fewer of its results in the sample counts as much as the others.
	p.addSample(q, float64(q.Results)/float64(max(1, q.Sampled)))
}

// addSample adds the figures of the sample of q, each of whose results counts as the given number of
// them.
func (p *Precision) addSample(q *Precision, weight float64) {
	p.Sampled += q.Sampled
	p.Products += q.Products
	p.Dropped += q.Dropped
	p.Vanished += q.Vanished
	p.Largest = max(p.Largest, q.Largest)
	p.Limited = p.Limited || q.Limited
	p.weight = max(p.weight, q.weight)
	p.exact += float64(weight * q.exact)
	p.fp16 += float64(weight * q.fp16)
	for i, e := range q.errors {
		p.errors[i] += float64(weight * e)
	}
}

// Lost returns the share of the products that the engine drops or rounds to zero.
func (p *Precision) Lost() float64 {
	if p.Products == 0 {
		return 0
	}
	return float64(p.Dropped+p.Vanished) / float64(p.Products)
}

// Error returns the root mean square of the errors of the results, as a fraction of that of the exact
// results, if the weights are multiplied by 2^shift and the sums by 2^-shift. It is +Inf if a sum
// becomes infinite and 0 if all exact results are 0. The shift must be one that [Precision.Best]
// returns.
func (p *Precision) Error(shift int) float64 { return p.relativeRMS(p.errors[shift-leastShift]) }

// Rounding returns the error of exact results that are rounded to fp16. No scale gives less, apart from
// chance.
func (p *Precision) Rounding() float64 { return p.relativeRMS(p.fp16) }

func (p *Precision) relativeRMS(squares float64) float64 {
	if p.exact == 0 {
		return 0
	}
	return math.Sqrt(squares / p.exact)
}

// Best returns the shift nearest to 0 that makes [Precision.Error] smallest, or larger than the
// smallest by at most 2 %. With it, all weights are finite, and sums stay below a quarter of the
// limit. Best returns 0 if no shift reduces the error by a tenth.
func (p *Precision) Best() (shift int) {
	least := 0.9 * p.Error(0)
	for s := leastShift; s <= mostShift; s++ {
		if p.allowsShift(s) {
			least = min(least, p.Error(s))
		}
	}
	if !(least < 0.9*p.Error(0)) {
		return 0
	}
	for s := 1; s <= mostShift; s++ {
		if p.allowsShift(s) && p.Error(s) <= 1.02*least {
			return s
		}
		if -s >= leastShift && p.allowsShift(-s) && p.Error(-s) <= 1.02*least {
			return -s
		}
	}
	return 0
}

// allowsShift reports whether weights may be scaled by 2^shift.
func (p *Precision) allowsShift(shift int) bool {
	return math.Ldexp(p.weight, shift) <= maxHalf && (!p.Limited || math.Ldexp(p.Largest, shift) < mac.Limit/headroom)
}

// A probe adds a part of the results of a convolution to a Precision.
type probe struct {
	into             *Precision
	pixels, channels []int // of the group, in ascending order
}

// newProbe chooses the results of one group that take part.
func (c *Convolution) newProbe() *probe {
	p := &probe{into: c.Precision}
	pixels, parts := c.Hout*c.Wout, max(1, c.Parts)*max(1, c.Pixels)
	results := max(1, sampledProducts/c.countTaps()/parts)
	n := min(pixels, mostPixels, max(min(leastPixels, results), results/c.Cout))
	p.pixels = sampleEvenly(pixels, n)
	p.channels = sampleEvenly(c.Cout, min(c.Cout, max(1, results/n)))
	p.into.Results += uint64(c.Cout * pixels * max(1, c.Pixels))
	p.into.Limited = p.into.Limited || !c.Arithmetic.FullRange
	return p
}

// sampleEvenly returns n of the numbers 0 to of-1, in ascending order: one of each of n ranges of equal
// length, at places that have no period.
func sampleEvenly(of, n int) []int {
	list := make([]int, n)
	place := 0.5
	for i := range list {
		list[i] = min(of-1, int((float64(i)+place)/float64(n)*float64(of)))
		place += math.Phi - 1
		place -= math.Floor(place)
	}
	return list
}

// addChosenResults adds the chosen results in the rows of stage s, for the pixel of a step that it computes.
func (p *probe) addChosenResults(s *stage, workers int) {
	c := s.c
	var at []int // in the stage
	for _, pixel := range p.pixels {
		if i := pixel - s.first*c.Wout; i >= 0 && i < s.rows*c.Wout {
			at = append(at, i)
		}
	}
	if s.first == 0 {
		p.into.weight = max(p.into.weight, s.largestWeight(workers))
	}
	parts := make([]Precision, len(p.channels))
	var shared [][]float32
	if !c.Unicast {
		shared = s.gatherColumns(at, 0, c.Cin)
	}
	forEachParallel(len(p.channels), workers, func(next func() (int, bool)) {
		half := make([]float16.Float16, c.countTaps())
		weights := make([]float32, len(half))
		room := newProbeBuffers(len(half), len(at))
		for i, ok := next(); ok; i, ok = next() {
			columns := shared
			if c.Unicast {
				columns = s.gatherColumns(at, p.channels[i], 1)
			}
			c.Kernel.Taps(half, c.Group, p.channels[i], s.pixel)
			c.Arithmetic.Widen(weights, half)
			start, post := s.newPost(p.channels[i])
			parts[i].addResults(c.Arithmetic, columns, weights, start, post, room)
		}
	})
	for i := range parts { // in order: the sums then do not depend on the number of workers
		p.into.addSample(&parts[i], 1)
	}
}

// largestWeight returns the largest magnitude of a weight of the group.
func (s *stage) largestWeight(workers int) float64 {
	c := s.c
	largest := make([]float16.Float16, c.Cout)
	forEachParallel(c.Cout, workers, func(next func() (int, bool)) {
		half := make([]float16.Float16, c.countTaps())
		for ch, ok := next(); ok; ch, ok = next() {
			c.Kernel.Taps(half, c.Group, ch, s.pixel)
			for _, h := range half {
				largest[ch] = max(largest[ch], h&0x7fff)
			}
		}
	})
	m := float16.Float16(0)
	for _, h := range largest {
		m = max(m, h)
	}
	return float64(m.Float32())
}

// gatherColumns returns, for each result in at, the operands of the given channels in the order of the
// taps.
func (s *stage) gatherColumns(at []int, channel, channels int) [][]float32 {
	columns := make([][]float32, len(at))
	scratch := make([]float16.Float16, 1)
	for i, first := range at {
		columns[i] = make([]float32, channels*len(s.order))
		s.fillPanel(columns[i], scratch, 1, 1, first, channel, channels)
	}
	return columns
}

// A probeRoom holds buffers that addResults uses for one channel after the other.
type probeRoom struct {
	panel, acc, scaled []float32
	half               []float16.Float16
	taps               *mac.Taps
	exact              []float64
}

func newProbeBuffers(taps, results int) *probeRoom {
	// A panel of long sums with few results is not padded: the padding would be most of the memory.
	lanes := results
	if results >= leastLanes/4 {
		lanes = (results + leastLanes - 1) / leastLanes * leastLanes
	}
	return &probeRoom{
		make([]float32, taps*lanes), make([]float32, lanes), make([]float32, taps),
		make([]float16.Float16, lanes), mac.NewTaps(1, taps), make([]float64, 0, results),
	}
}

// addResults adds the results of one output channel. Each of the columns holds the operands of a result.
func (p *Precision) addResults(a mac.Arithmetic, columns [][]float32, weights []float32, start float32, post mac.Post, room *probeRoom) {
	post.ReLU, post.Table = false, nil
	exact, panel, lanes := room.exact[:0], room.panel, len(room.acc)
	clear(panel)
	for _, column := range columns {
		t := a.Trace(start, column, weights)
		if math.IsInf(t.Exact, 0) || t.Exact != t.Exact {
			continue // an operand is infinite
		}
		y := float64(t.Exact*float64(post.Scale)) + float64(post.Bias)
		if math.Abs(y) > maxHalf {
			continue // fp16 does not have the result, however the sum is computed
		}
		for k, x := range column {
			panel[k*lanes+len(exact)] = x
		}
		p.Sampled++
		p.Products += uint64(t.Products)
		p.Dropped += uint64(t.Dropped)
		p.Vanished += uint64(t.Vanished)
		p.Largest = max(p.Largest, t.Largest)
		d := float64(mac.RoundHalf(float32(y)).Float32()) - y
		p.exact += float64(y * y)
		p.fp16 += float64(d * d)
		exact = append(exact, y)
	}
	if len(exact) == 0 {
		return
	}
	p.weight = 0
	for _, w := range weights {
		p.weight = max(p.weight, math.Abs(float64(w)))
	}
	p.Limited = !a.FullRange
	scaled, taps, acc, half := room.scaled, room.taps, room.acc, room.half
	unrounded := math.Inf(1) // sum of the squares of the errors with the last shift, ahead of fp16
	for s := leastShift; s <= mostShift; s++ {
		sum := &p.errors[s-leastShift]
		switch {
		case s != 0 && !p.allowsShift(s):
			*sum = math.Inf(1)
			continue
		case s > 0 && unrounded < p.exact*negligible: // nothing is left to gain
			*sum = p.errors[s-leastShift-1]
			continue
		}
		scaleWeights(scaled, weights, s)
		taps.Set(0, scaled)
		first, rest := start, post
		if s != 0 {
			rest.Bias += start // one of them is 0
			rest.Scale = float32(math.Ldexp(float64(post.Scale), -s))
			first, rest = rest.Start()
		}
		a.Reduce(acc, panel, lanes, taps, mac.Start{PerVector: []float32{first}})
		rest.Apply(half, acc)
		unrounded = 0
		for l, y := range exact {
			e := float64(half[l].Float32()) - y
			*sum += float64(e * e)
			e = float64(float64(acc[l])*float64(rest.Scale)) + float64(rest.Bias) - y
			unrounded += float64(e * e)
		}
	}
}

// scaleWeights sets dst to the weights times 2^shift, rounded to fp16 where that is not exact.
func scaleWeights(dst, weights []float32, shift int) {
	factor := float32(math.Ldexp(1, shift))
	for i, w := range weights {
		dst[i] = w * factor
	}
	if shift < 0 {
		for i, w := range dst {
			dst[i] = mac.RoundHalf(w).Float32()
		}
	}
}
