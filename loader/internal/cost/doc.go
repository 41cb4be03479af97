// Package cost checks in tests that readers allocate memory in proportion to the size of a
// file, and not according to the numbers in it.
package cost
