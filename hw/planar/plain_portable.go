//go:build !amd64 || purego

package planar

import "github.com/x448/float16"

func plain(dst, a, b []float16.Float16, m *masks, op Op) { plainGo(dst, a, b, m, op) }

func scaled(dst, a, b []float16.Float16, p *plan) { scaledGo(dst, a, b, p) }
func single(dst, a []float16.Float16, p *plan)    { singleGo(dst, a, p) }

func joinRow(k Reduction, acc []float32, a []float16.Float16) { joinRowGo(k, acc, a) }

func joinRuns(k Reduction, acc []float32, a []float16.Float16, n int) { joinRunsGo(k, acc, a, n) }
