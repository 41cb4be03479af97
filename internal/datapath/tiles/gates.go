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
	Short   int // part of Pace in which all of them compute last groups of an engine, which have fewer channels than others
}

// Pace returns the time to compute one patch of pixels. The unit is the time of one round of an
// engine with both tiles enabled.
func (c *Crew) Pace() int { return c.Rounds + c.Slow }

// assign chooses the engines for a task that is divided among want engines. Each of these has the
// given number of groups of output channels. A group needs size cycles for each step of its sums,
// but the last one of an engine needs last cycles, because it may have fewer channels. Assign
// prefers engines with both tiles enabled. If there are too few of them, either they work more
// rounds, or engines with one tile join some rounds, which then last twice as long; Assign chooses
// the faster way. The crew is empty if no tile is enabled, which is a device fault.
//
// The time of a group depends on its own channels. Apple's compiler counts those alone: its
// estimates are exact for groups of 14 and of 6 channels, where a group may have 16 and 8 (8 of 8
// tasks), and it makes tasks of 224 and 32 channels where the weights of 256 do not fit. That the
// last of several groups needs no more time either is inferred.
func (e Enables) assign(want, groups, size, last int) Crew {
	full, half := e.countEngines()
	groups = max(1, groups)
	short := 0
	if last < size {
		short = 1
	}
	if full >= want {
		return Crew{want, 2 * want, groups, 0, groups, short}
	}
	if full+half == 0 {
		return Crew{}
	}
	var best Crew
	mixed := min(want, full+half)
	all := want * groups
	// Every number of slow rounds is tried. There are at most as many as groups, and the cost is no smooth
	// function of it, because rounds of both kinds may end partly used.
	for slow := 0; slow <= (all+mixed-1)/mixed; slow++ {
		left, fast := max(0, all-slow*mixed), 0
		if left > 0 && full == 0 {
			continue
		} else if left > 0 {
			fast = (left + full - 1) / full
		}
		c := Crew{full, 2 * full, slow + fast, slow, groups, 0}
		if slow > 0 {
			c.Engines, c.Tiles = mixed, mixed+min(full, mixed)
		}
		if short > 0 {
			c.Short = countShortRounds(slow, fast, mixed, full, want*(groups-1))
		}
		// Among equally fast crews, the one with fewer slow rounds wins: it keeps half-open engines out of
		// the task.
		if best.Engines == 0 || c.stepCycles(size, last) < best.stepCycles(size, last) {
			best = c
		}
	}
	return best
}

// stepCycles returns the cycles of a step of one patch if last groups need last cycles and others size.
func (c *Crew) stepCycles(size, last int) int { return c.Pace()*size - c.Short*(size-last) }

// countShortRounds returns the largest part of the pace of slow and fast rounds that last groups
// can have for themselves. mixed engines work in each slow round and full engines in each fast one,
// and long is the number of other groups, which need the capacity of the other rounds.
func countShortRounds(slow, fast, mixed, full, long int) (short int) {
	for s := range slow + 1 {
		spare := slow*mixed + fast*full - s*mixed - long
		if spare < 0 {
			break
		}
		f := 0
		if full > 0 {
			f = min(fast, spare/full)
		}
		short = max(short, 2*s+f)
	}
	return short
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
