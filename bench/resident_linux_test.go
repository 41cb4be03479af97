package bench

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"
)

// processorTime is what the process has used of all processors.
func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// forgetPeak makes the most memory that was resident what is resident now.
func forgetPeak() { _ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }

// residentPeak is the most bytes that were resident since, 0 where nothing says.
func residentPeak() uint64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, peak, _ := bytes.Cut(status, []byte("VmHWM:"))
	if f := bytes.Fields(peak); len(f) > 0 {
		kb, _ := strconv.ParseUint(string(f[0]), 10, 64)
		return kb << 10
	}
	return 0
}
