package tiles

import "math/bits"

// The array's geometry (bytes: 32 enables at a regular stride; inferred: two tiles an
// engine, four engines a cluster).
const (
	Tiles          = 32
	TilesPerEngine = 2
	Engines        = Tiles / TilesPerEngine
	Clusters       = 4
)

// Enables is the open tiles, one bit each: tile 2e+h is half h of engine e.
type Enables uint32

// AllTiles is every tile open, the state register init leaves.
const AllTiles Enables = 1<<Tiles - 1

// Tiles is the number of open tiles.
func (e Enables) Tiles() int { return bits.OnesCount32(uint32(e)) }

// Engine is the number of open tiles of an engine, 0 to 2.
func (e Enables) Engine(i int) int { return bits.OnesCount32(uint32(e) >> (2 * i) & 3) }

// engines counts the engines with two open tiles and with one.
func (e Enables) engines() (full, half int) {
	const firsts = AllTiles / 3 // the first tile of each
	a, b := uint32(e&firsts), uint32(e>>1&firsts)
	return bits.OnesCount32(a & b), bits.OnesCount32(a ^ b)
}

// A Crew is the engines that take a descriptor's work, round by round: in a round each of
// them serves one output-channel group, its own or that of an engine that cannot.
type Crew struct {
	Engines int // at work
	Tiles   int // of theirs that are open
	Rounds  int // a patch
	Slow    int // of Rounds: an engine with one tile takes part, and they take twice as long
	Own     int // rounds of a patch with every tile open
}

// Pace is how many rounds' time a patch takes.
func (c *Crew) Pace() int { return c.Rounds + c.Slow }

// Assign picks the engines for a descriptor that names want of them, each with so many
// output-channel groups: full ones first. All engines of a round see the same pixels, so
// that one with one tile has them all wait for it. When too few are full their groups go to
// the full ones in rounds more, or half ones take part in some rounds, whichever is
// quicker. With no tile open the crew is empty: a device fault.
func (e Enables) Assign(want, groups int) Crew {
	full, half := e.engines()
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

// Half is the first engine with one tile open, -1 where there is none.
func (e Enables) Half() int {
	for i := range Engines {
		if e.Engine(i) == 1 {
			return i
		}
	}
	return -1
}
