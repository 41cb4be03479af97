//go:build !unix || solaris || aix

package sweep

import "os"

// lock does nothing where files cannot be locked.
func lock(*os.File) error { return nil }
