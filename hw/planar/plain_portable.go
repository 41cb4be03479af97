//go:build !amd64 || purego

package planar

import "github.com/x448/float16"

func plain(dst, a, b []float16.Float16, m *masks, op Op) { plainGo(dst, a, b, m, op) }
