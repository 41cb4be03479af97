//go:build !unix || solaris || aix

package sweep

import "os"

// lockFile does nothing: this system cannot lock files.
func lockFile(*os.File) error { return nil }
