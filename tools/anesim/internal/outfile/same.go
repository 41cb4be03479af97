package outfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Same reports whether two paths refer to the same file. The file need not exist yet. Same returns
// false for "" and "-", and for pipes and devices, because writing to them destroys nothing.
func Same(a, b string) bool {
	if a == "" || b == "" || a == "-" || b == "-" {
		return false
	}
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	switch {
	case errA == nil && errB == nil:
		return x.Mode().IsRegular() && os.SameFile(x, y)
	case errors.Is(errA, fs.ErrNotExist) && errors.Is(errB, fs.ErrNotExist):
		return resolvePath(a) == resolvePath(b)
	}
	return false
}

// resolvePath returns the absolute path of a file after resolving the links in the path of its
// directory. The file need not exist.
func resolvePath(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	dir, base := filepath.Split(path)
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return filepath.Join(dir, base)
}
