// Package numpy draws the pseudo-random numbers that numpy's default generator draws for the same
// seed. Published results for chips name a seed instead of their inputs; with this package, a test
// has the inputs too.
//
//	numpy.random.default_rng(seed).standard_normal(n)    New(seed).Normal()    n times
//
// The generator has three parts, each with a public definition: SeedSequence turns the seed into a
// state, PCG64 (a 128-bit linear congruential generator with output XSL-RR) turns the state into
// 64-bit numbers, and the ziggurat method of Marsaglia and Tsang with 256 layers turns these into
// normally distributed ones.
//
// A number is that of numpy to the last bit, unless it lies in the tail beyond 3.65 (one of 3900
// numbers). There, it contains a logarithm, which may differ from the C library's in the last bit of
// a float64. As float32, all numbers of the tests' seeds are equal.
package numpy
