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

// A Crew is the engines that take a descriptor's work.
type Crew struct {
	Engines int // at work
	Tiles   int // of theirs that are open
	Passes  int // rounds in which they serve the engines the descriptor names
	Slow    int // 2 when an engine with one tile sets the pace, else 1
}

// Assign picks the engines for a descriptor that names want of them: full ones first.
// When too few are full it takes the quicker of two ways, extra passes of the full ones
// or the pace of the half ones. With no tile open the crew is empty: a device fault.
func (e Enables) Assign(want int) Crew {
	full, half := e.engines()
	switch {
	case full >= want:
		return Crew{want, 2 * want, 1, 1}
	case full+half == 0:
		return Crew{}
	}
	var best Crew
	if full > 0 {
		best = Crew{full, 2 * full, (want + full - 1) / full, 1}
	}
	n := min(want, full+half)
	mixed := Crew{n, n + min(full, n), (want + n - 1) / n, 2}
	if best.Engines == 0 || mixed.Passes*mixed.Slow < best.Passes*best.Slow {
		best = mixed
	}
	return best
}
