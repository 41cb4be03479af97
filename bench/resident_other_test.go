//go:build !linux

package bench

import "time"

func processorTime() time.Duration { return 0 }
func forgetPeak()                  {}
func residentPeak() uint64         { return 0 }
