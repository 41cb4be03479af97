package firmware

import (
	"fmt"
	"strconv"
	"strings"
)

// Dimensions of the MAC array: 16 engines with two tiles each, in four clusters that are
// powered separately.
const (
	Tiles             = 32
	tilesPerEngine    = 2
	enginesPerCluster = 4
	clusters          = Tiles / tilesPerEngine / enginesPerCluster
)

// allTiles is the mask with the bits of all tiles set. Bits 2e and 2e+1 are the tiles of MAC engine
// e.
const allTiles uint32 = 1<<Tiles - 1

// tileEnableOffset returns the offset of a tile's enable word in the ANE block. Only the offsets of
// the first and the last tile are decompiled (table C.14: 32 words from 0xd014 to 0xfec4). The other
// 30 are assumed: the span is no multiple of 31, and 0x300 for each engine with 0x1b0 for its second
// tile is one of several ways to divide it (15a + b = 0x2eb0).
func tileEnableOffset(tile int) uint32 {
	engine, half := uint32(tile/tilesPerEngine), uint32(tile%tilesPerEngine)
	return 0xd014 + 0x300*engine + 0x1b0*half
}

// A TileError reports a text that is not a valid list of tiles.
type TileError struct {
	List string // text of the list
	Part string // invalid part
	What string // the mistake and what was expected
}

func (e *TileError) Error() string {
	return fmt.Sprintf("tile list %q: %q %s", e.List, e.Part, e.What)
}

// ParseTiles parses a list of tile numbers such as "0-3,7" and returns a mask in which the bits of
// these tiles are set. An empty list gives 0. The error is a *[TileError].
func ParseTiles(list string) (uint32, error) {
	var mask uint32
	if strings.TrimSpace(list) == "" {
		return 0, nil
	}
	for part := range strings.SplitSeq(list, ",") {
		part = strings.TrimSpace(part)
		lo, hi, isRange := strings.Cut(part, "-")
		if !isRange {
			hi = lo
		}
		first, err1 := strconv.ParseUint(lo, 10, 16)
		last, err2 := strconv.ParseUint(hi, 10, 16)
		switch {
		case err1 != nil || err2 != nil:
			return 0, &TileError{list, part, "is neither a tile number nor a range such as 0-3"}
		case first >= Tiles || last >= Tiles:
			return 0, &TileError{list, part, fmt.Sprintf("is out of range; want tiles 0 to %d", Tiles-1)}
		case first > last:
			return 0, &TileError{list, part, "is a descending range; want the lower tile first"}
		}
		for tile := first; tile <= last; tile++ {
			mask |= 1 << tile
		}
	}
	return mask, nil
}
