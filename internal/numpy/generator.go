package numpy

import (
	"math"
	"math/bits"
)

// A Generator draws numbers like numpy's default_rng. Use [New] to create one.
type Generator struct{ state, increment uint128 }

type uint128 struct{ high, low uint64 }

// New returns the generator that numpy.random.default_rng(seed) returns.
func New(seed uint64) *Generator {
	s := generateState(mixEntropy(seed))
	g := &Generator{increment: uint128{s[2]<<1 | s[3]>>63, s[3]<<1 | 1}}
	g.step()
	var carry uint64
	g.state.low, carry = bits.Add64(g.state.low, s[1], 0)
	g.state.high, _ = bits.Add64(g.state.high, s[0], carry)
	g.step()
	return g
}

// mixEntropy returns the pool of a SeedSequence: each word of the seed hashed, then each word of
// the pool mixed with the others.
func mixEntropy(seed uint64) (pool [4]uint32) {
	constant := uint32(0x43b0d7e5)
	hash := func(v uint32) uint32 {
		v ^= constant
		constant *= 0x931e8875
		v *= constant
		return v ^ v>>16
	}
	for i, word := range [4]uint32{uint32(seed), uint32(seed >> 32)} {
		pool[i] = hash(word)
	}
	for from := range pool {
		for to := range pool {
			if from != to {
				v := 0xca01f9dd*pool[to] - 0x4973f715*hash(pool[from])
				pool[to] = v ^ v>>16
			}
		}
	}
	return pool
}

// generateState returns the numbers that a SeedSequence with the given pool gives to PCG64.
func generateState(pool [4]uint32) (state [4]uint64) {
	constant := uint32(0x8b51f9dd)
	for i := range 2 * len(state) {
		v := pool[i%len(pool)] ^ constant
		constant *= 0x58f38ded
		v *= constant
		state[i/2] |= uint64(v^v>>16) << (i % 2 * 32)
	}
	return state
}

// step replaces the state by state * multiplier + increment, modulo 2^128.
func (g *Generator) step() {
	const high, low = 0x2360ed051fc65da4, 0x4385df649fccf645
	h, l := bits.Mul64(g.state.low, low)
	h += g.state.high*low + g.state.low*high
	l, carry := bits.Add64(l, g.increment.low, 0)
	h, _ = bits.Add64(h, g.increment.high, carry)
	g.state = uint128{h, l}
}

// Uint64 returns the next 64 random bits.
func (g *Generator) Uint64() uint64 {
	g.step()
	return bits.RotateLeft64(g.state.high^g.state.low, -int(g.state.high>>58))
}

// uniform returns a number from [0, 1), a multiple of 2^-53.
func (g *Generator) uniform() float64 { return float64(g.Uint64()>>11) * 0x1p-53 }

// Normal returns the next number of the standard normal distribution.
func (g *Generator) Normal() float64 {
	for {
		r := g.Uint64()
		layer, negative, position := r&0xff, r>>8&1 != 0, r>>9&(1<<52-1)
		x := float64(position) * 0x1p-52 * edges[layer]
		if negative {
			x = -x
		}
		switch {
		case position < inside[layer]:
			return x
		case layer == 0:
			return g.tail(position>>8&1 != 0)
		}
		below, above := heights[layer], heights[layer-1]
		// The conversion keeps a compiler from fusing product and sum, which would round once.
		if float64((above-below)*g.uniform())+below < math.Exp(-0.5*x*x) {
			return x
		}
	}
}

// tail returns a number beyond the last layer, or its negative.
func (g *Generator) tail(negative bool) float64 {
	edge := edges[255]
	const inverse = 0.27366123732975827203338247596 // 1 / edge
	for {
		x := float64(-inverse * math.Log1p(-g.uniform())) // rounded before the sum below
		y := -math.Log1p(-g.uniform())
		if y+y <= x*x {
			continue
		}
		if negative {
			return -(edge + x)
		}
		return edge + x
	}
}

// Normals32 returns the next n numbers of the standard normal distribution as float32, as
// standard_normal(n).astype(float32) does.
func (g *Generator) Normals32(n int) []float32 {
	list := make([]float32, n)
	for i := range list {
		list[i] = float32(g.Normal())
	}
	return list
}
