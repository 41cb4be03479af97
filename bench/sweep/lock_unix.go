//go:build unix && !solaris && !aix

package sweep

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lock locks a file for this process until it is closed. It succeeds on file systems
// without locks. It returns errLocked if another process holds the lock.
func lock(f *os.File) error {
	switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
	case errors.Is(err, unix.EWOULDBLOCK):
		return errLocked
	case errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.ENOLCK), errors.Is(err, unix.ENOSYS):
		return nil
	default:
		return err
	}
}
