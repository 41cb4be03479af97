package lower

import (
	"anesim/hw/regs"
	"anesim/loader/internal/lower/task"
)

// The functions below describe tasks over tensors larger than L2 as they ran in measured
// calls, which no layer compiles to. Their registers hold no addresses: they determine time, bytes
// and energy, but the tasks cannot run.

// PlanarPass returns the registers of a planar task that processes m rows of k elements. It loads
// its source from memory if read is true, and writes its result there if write is true.
func PlanarPass(form regs.PlanarForm, m, k int, read, write bool) *regs.Groups {
	return task.PlanarPass(form, m, k, read, write)
}

// TablePass returns the registers of a MAC task that applies an activation table to m rows of k
// elements. It loads its source from memory if read is true, and writes its result there if write
// is true.
func TablePass(m, k int, read, write bool) *regs.Groups {
	return task.TablePass(m, k, read, write)
}

// CachedProduct returns the registers of the two tasks of a batched matmul in which each head
// multiplies one row of k elements by a k x n matrix of its own, which is an input: interleave
// writes the matrices to the scratch buffer as weights, and multiply uses them.
func CachedProduct(heads, k, n int) (interleave, multiply *regs.Groups) {
	return task.CachedProduct(heads, k, n)
}
