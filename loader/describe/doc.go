// Package describe puts the descriptors of a program into words: the operation that the
// registers of a task set up, the tensors that it reads and writes, and its weights.
package describe
