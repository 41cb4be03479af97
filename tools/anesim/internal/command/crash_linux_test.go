package command

import (
	"syscall"
	"testing"
)

// smallDisk mounts a disk of a few megabytes and returns its directory. It skips the test if
// mounting is not allowed.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("anesim", dir, "tmpfs", 0, "size=4m"); err != nil {
		t.Skip("filling a disk takes one that the test may mount, as root: ", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// limitProcess limits the address space of the process, and its time on processors to attackTime.
func limitProcess(bytes uint64) {
	seconds := uint64(attackTime.Seconds())
	for resource, limit := range map[int]uint64{syscall.RLIMIT_AS: bytes, syscall.RLIMIT_CPU: seconds} {
		if err := syscall.Setrlimit(resource, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
			panic(err)
		}
	}
}
