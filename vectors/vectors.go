package vectors

import (
	"embed"
	"io/fs"
)

//go:embed derived silicon synthetic
var files embed.FS

// FS returns the files of all cases.
func FS() fs.FS { return files }
