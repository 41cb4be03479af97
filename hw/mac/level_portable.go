//go:build (!amd64 && !arm64) || purego

package mac

import "github.com/x448/float16"

func supportedLevels() []level { return []level{portable} }

func reduceAtLevel(_ level, acc, panel, taps []float32, lanes, k int, port Port) {
	reducePortable(acc, panel, taps, lanes, k, port)
}

func reduceRowsAtLevel(lv level, acc, plane []float32, at []int, taps []float32, port Port) {
	reduceRowsPacked(lv, acc, plane, at, taps, port)
}

func widenAtLevel(_ level, dst []float32, src []float16.Float16) {
	widenPortable(dst, src)
}

func widenExactAtLevel(_ level, dst []float32, src []float16.Float16) {
	widenExactPortable(dst, src)
}

func narrowAtLevel(_ level, dst []float16.Float16, acc []float32, p *Post) {
	narrowPortable(dst, acc, p)
}

func evalAtLevel(_ level, dst []float16.Float16, acc []float32, t *Table, r *tableRow) {
	evalPortable(dst, acc, t, r)
}
