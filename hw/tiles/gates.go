package tiles

import "math/bits"

// The array's geometry. The 32 enables at a regular stride are from the bytes of programs. Two
// tiles per engine and four engines per cluster are inferred.
const (
	Tiles          = 32
	TilesPerEngine = 2
	Engines        = Tiles / TilesPerEngine
	Clusters       = 4
)

// Enables is a bit set of open tiles. Tile 2e+h is half h of engine e.
type Enables uint32

// AllTiles has every tile open, as after register initialization.
const AllTiles Enables = 1<<Tiles - 1

// Tiles returns the number of open tiles.
func (e Enables) Tiles() int { return bits.OnesCount32(uint32(e)) }

// Engine returns how many of the two tiles of engine i are open.
func (e Enables) Engine(i int) int { return bits.OnesCount32(uint32(e) >> (2 * i) & 3) }

// countEngines returns the number of engines with two open tiles and with one.
func (e Enables) countEngines() (full, half int) {
	const firsts = AllTiles / 3 // the first tile of each engine
	a, b := uint32(e&firsts), uint32(e>>1&firsts)
	return bits.OnesCount32(a & b), bits.OnesCount32(a ^ b)
}

// A Crew describes the engines that work on a descriptor. The work proceeds in rounds: in each
// round every engine of the crew serves one output-channel group, its own or that of an engine that
// cannot work.
type Crew struct {
	Engines int // number of engines at work
	Tiles   int // number of their open tiles
	Rounds  int // rounds per patch
	Slow    int // rounds with an engine that has one open tile, which take twice as long
	Own     int // rounds per patch if every tile were open
}

// Pace returns the duration of a patch, in rounds with two open tiles.
func (c *Crew) Pace() int { return c.Rounds + c.Slow }

// Assign picks the engines for a descriptor that uses want engines with the given number of
// output-channel groups each. Engines with two open tiles come first. If there are too few of them,
// the remaining groups are either added to them in additional rounds, or engines with one open tile
// join some rounds, which then take twice as long. Assign picks the faster way. If no tile is open,
// the crew is empty, which is a device fault.
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

// Half returns the first engine with exactly one open tile, or -1.
func (e Enables) Half() int {
	for i := range Engines {
		if e.Engine(i) == 1 {
			return i
		}
	}
	return -1
}
