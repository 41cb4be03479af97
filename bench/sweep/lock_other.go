//go:build !unix || solaris || aix

package sweep

import "os"

// lock does nothing, because files cannot be locked on these systems.
func lock(*os.File) error { return nil }
