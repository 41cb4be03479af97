//go:build (!amd64 && !arm64) || purego

package mac

import "github.com/x448/float16"

func supportedLevels() []level { return []level{portable} }

func (a Arithmetic) reduceAtLevel(_ level, acc, panel []float32, lanes int, taps *Taps, start *Start) {
	a.reducePanelPortable(acc, panel, lanes, taps, start)
}

func (a Arithmetic) reduceRowsAtLevel(lv level, acc, plane []float32, at []int, taps *Taps, start float32) {
	a.reduceRowsPacked(lv, acc, plane, at, taps, start)
}

func prepareAtLevel(_ level, weights []weight, widened []float32) digest {
	return preparePortable(weights, widened)
}

func widenAtLevel(_ level, dst []float32, src []float16.Float16) {
	widenPortable(dst, src)
}

func narrowAtLevel(_ level, dst []float16.Float16, acc []float32, p *Post) {
	narrowPortable(dst, acc, p)
}
