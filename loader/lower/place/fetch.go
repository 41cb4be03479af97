package place

// A Fetch describes how a reader or writer accesses a tile: Rows rows at a time, Stride rows from
// one to the next, whose first units must be at least Apart banks apart. R rows of n units together
// are the 8 units of 128 bytes; one unit more is room for the halo of a window.
type Fetch struct{ Rows, Stride, Apart int }

// Fetches of the readers and writers of a tile.
var (
	// PlanarFetch is the access of the planar engine. A tile that the MAC engines access too is
	// also laid out for it (seen in 107 of 108 tiles, and in 8 of 8 that are read later).
	PlanarFetch = Fetch{4, 1, 2}
	// TransposeFetch is the access of a write that exchanges channels and columns (seen in 9 of
	// 10 tiles).
	TransposeFetch = Fetch{16, 1, 2}
	// SmallFetch is the access of the MAC engines in their small source mode.
	SmallFetch = Fetch{4, 1, 3}
	// RingFetch is the access of the MAC engines to a ring: 16 rows of 8 columns at a time.
	RingFetch = Fetch{8, 1, 2}
)
