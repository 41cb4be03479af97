// Package material finds the reference material for tests: programs of Apple's compiler,
// tables, networks and measurements of others, which are not part of this project. The material is
// in a directory named shared, next to that of the checkout.
//
// Without that directory, a test that needs it skips and says so. With it, such a test must run: if
// a file is missing, the test fails. No other package knows the place.
package material
