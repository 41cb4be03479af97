package place

// A Fetch describes how an engine accesses a tile in L2: Rows rows at the same time, Stride rows
// apart. To avoid bank conflicts, [Layout.Skew] makes each of these rows begin at least Apart banks
// (of 16 bytes) after every earlier one. Apart is the number of banks that the engine reads of each
// row, usually plus one for the margin of a window.
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
