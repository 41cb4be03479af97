package sweep

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// creationTime returns when f was created, or the zero time if the file system does not
// record it.
func creationTime(f *os.File) time.Time {
	var x unix.Statx_t
	if err := unix.Statx(int(f.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_BTIME, &x); err != nil || x.Mask&unix.STATX_BTIME == 0 {
		return time.Time{}
	}
	return time.Unix(x.Btime.Sec, int64(x.Btime.Nsec))
}
