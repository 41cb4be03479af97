//go:build unix && !solaris && !aix

package sweep

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lockFile locks f for this process until f is closed. It returns errLocked if another
// process has locked it, and nil if the file system does not support locks.
func lockFile(f *os.File) error {
	switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
	case errors.Is(err, unix.EWOULDBLOCK):
		return errLocked
	case errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.ENOLCK), errors.Is(err, unix.ENOSYS):
		return nil
	default:
		return err
	}
}
