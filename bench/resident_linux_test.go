package bench

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"
)

// processorTime returns the processor time that the process has used.
func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// forgetPeak resets the peak of resident memory to the current amount.
func forgetPeak() { _ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }

// residentPeak returns the peak of resident memory in bytes since forgetPeak, or 0 if it is
// unknown.
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
