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

// limitMemory limits the address space of the process.
func limitMemory(bytes uint64) {
	if err := syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: bytes, Max: bytes}); err != nil {
		panic(err)
	}
}
