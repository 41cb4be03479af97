//go:build !amd64 || purego

package planar

import "github.com/x448/float16"

func plain(dst, a, b []float16.Float16, m *masks, op Op) { plainGo(dst, a, b, m, op) }

func scaled(dst, a, b []float16.Float16, p *plan) { scaledGo(dst, a, b, p) }
func single(dst, a []float16.Float16, p *plan)    { singleGo(dst, a, p) }

func (p *plan) direct() bool { return false }

func joinRows(k Reduction, acc []float32, a []float16.Float16, stride, rows int) {
	joinRowsGo(k, acc, a, stride, rows)
}

func joinRuns(k Reduction, acc []float32, a []float16.Float16, n int) { joinRunsGo(k, acc, a, n) }

func narrowRow(dst []float16.Float16, acc []float32, relu bool) { narrowRowGo(dst, acc, relu) }
