//go:build !amd64 || purego

package planar

import "github.com/x448/float16"

func applyPlain(dst, a, b []float16.Float16, m *masks, op Op) { applyPlainGo(dst, a, b, m, op) }

func applyScaled(dst, a, b []float16.Float16, p *plan) { applyScaledGo(dst, a, b, p) }
func applySingle(dst, a []float16.Float16, p *plan)    { applySingleGo(dst, a, p) }

func (p *plan) isSingleLoopFast() bool { return false }

func accumulateRows(k Reduction, acc []float32, a []float16.Float16, stride, rows int) {
	accumulateRowsGo(k, acc, a, stride, rows)
}

func accumulateRuns(k Reduction, acc []float32, a []float16.Float16, n int) {
	accumulateRunsGo(k, acc, a, n)
}

func narrowRow(dst []float16.Float16, acc []float32, relu bool) { narrowRowGo(dst, acc, relu) }
