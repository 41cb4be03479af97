// Package cost is the memory rule of the readers, as their tests apply it: what a reader
// allocates is bounded by what its file has, and not by what the file says.
package cost
