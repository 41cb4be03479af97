package tiles

import "math/bits"

// Dimensions of the MAC array of the M1. A tile is half of a MAC engine and can be disabled on its
// own. The number of tiles is known from programs; how they form engines and clusters is inferred.
const (
	Tiles          = 32
	TilesPerEngine = 2
	Engines        = Tiles / TilesPerEngine
	Clusters       = 4
)

// Enables is the set of tiles that are enabled, as a bit mask. Bits 2e and 2e+1 are the two tiles
// of MAC engine e.
type Enables uint32

// AllTiles enables every tile. It is the value after the registers are initialized.
const AllTiles Enables = 1<<Tiles - 1

// Tiles returns the number of tiles that are enabled.
func (e Enables) Tiles() int { return bits.OnesCount32(uint32(e)) }

// Engine returns how many of the two tiles of engine i are enabled.
func (e Enables) Engine(i int) int { return bits.OnesCount32(uint32(e) >> (2 * i) & 3) }

// countEngines returns the number of engines with both tiles enabled (full) and the number with one
// tile enabled (half).
func (e Enables) countEngines() (full, half int) {
	const firsts = AllTiles / 3 // the first tile of each engine
	a, b := uint32(e&firsts), uint32(e>>1&firsts)
	return bits.OnesCount32(a & b), bits.OnesCount32(a ^ b)
}

// A Crew describes the engines that work on a task. They work in rounds. In each round, every
// engine of the crew computes one group of output channels. The group may belong to an engine that
// is not in the crew.
type Crew struct {
	Engines int // number of engines at work
	Tiles   int // number of their open tiles
	Rounds  int // rounds per patch
	Slow    int // rounds with an engine that has one open tile, which take twice as long
	Own     int // rounds per patch if every tile were open
}

// Pace returns the time to compute one patch of pixels. The unit is the time of one round of an
// engine with both tiles enabled.
func (c *Crew) Pace() int { return c.Rounds + c.Slow }

// Assign chooses the engines for a task that is divided among want engines, with the given number
// of output-channel groups for each. It prefers engines with both tiles enabled. If there are too
// few of them, either they work more rounds, or engines with one tile join some rounds, which then
// last twice as long; Assign chooses the faster way. The crew is empty if no tile is enabled, which
// is a device fault.
func (e Enables) Assign(want, groups int) Crew {
	full, half := e.countEngines()
	groups = max(1, groups)
	if full >= want {
		return Crew{want, 2 * want, groups, 0, groups}
	}
	if full+half == 0 {
		return Crew{}
	}
	var best Crew
	mixed := min(want, full+half)
	all := want * groups
	for slow := 0; slow <= (all+mixed-1)/mixed; slow++ {
		left, fast := max(0, all-slow*mixed), 0
		if left > 0 && full == 0 {
			continue
		} else if left > 0 {
			fast = (left + full - 1) / full
		}
		c := Crew{full, 2 * full, slow + fast, slow, groups}
		if slow > 0 {
			c.Engines, c.Tiles = mixed, mixed+min(full, mixed)
		}
		if best.Engines == 0 || c.Pace() < best.Pace() {
			best = c
		}
	}
	return best
}

// Half returns the first engine with exactly one tile enabled, or -1 if there is none.
func (e Enables) Half() int {
	for i := range Engines {
		if e.Engine(i) == 1 {
			return i
		}
	}
	return -1
}
