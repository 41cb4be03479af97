package hw

import "anesim/internal/datapath/tiles"

// What a [DescriptorReport] says of the array. The array is modelled in a package that others cannot
// import, so the types have names here.
type (
	// A Crew describes the engines that work on a task, in rounds.
	Crew = tiles.Crew

	// A Packing is a storage format of weights, such as dense fp16 or 8-bit integers.
	Packing = tiles.Packing

	// A Precision says how far the results of a multiply-accumulate are from exact ones.
	Precision = tiles.Precision
)
