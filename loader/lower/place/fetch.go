package place

// A Fetch is what a reader takes of a tile at a time: so many rows, whose first units
// must stand so many banks apart. R rows of n units are the 8 units of 128 bytes, and a
// unit more is room for the window's halo.
type Fetch struct{ Rows, Apart int }

// Fetches of the readers and writers of a tile.
var (
	// PlanarFetch: the planar engine reads or writes it, also where the MAC engines read
	// it too (107/108, 8/8 read afterwards).
	PlanarFetch = Fetch{4, 2}
	// TransposeFetch: written with channel and x transposed (9/10).
	TransposeFetch = Fetch{16, 2}
	// SmallFetch: the small source mode of the MAC engines.
	SmallFetch = Fetch{4, 3}
	// RingFetch: the MAC engines read a ring 16 rows of 8 columns at a time.
	RingFetch = Fetch{8, 2}
)
