//go:build unix && !solaris && !aix

package outfile

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lockDirectory waits until no other process has locked the directory dir, and locks it. It returns
// the function that ends the lock. It does nothing if the file system does not support locks or if
// the directory cannot be opened, which is for the writer of its file to report.
func lockDirectory(dir string) (unlock func() error, err error) {
	f, err := os.Open(dir)
	if err != nil {
		return func() error { return nil }, nil
	}
	for {
		switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX); {
		case errors.Is(err, unix.EINTR): // a signal, such as the runtime's own
			continue
		case err == nil, errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.ENOLCK), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EBADF):
			return f.Close, nil // EBADF: locks on network file systems need a file that can be written
		default:
			f.Close()
			return nil, err
		}
	}
}
