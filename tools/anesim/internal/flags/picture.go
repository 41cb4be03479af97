package flags

import (
	"path/filepath"
	"strings"

	"anesim/tools/anesim/internal/usage"
)

// CheckSVG returns an error unless the file name ends in .svg. The error names the flag.
func CheckSVG(flag, file string) error {
	if !strings.EqualFold(filepath.Ext(file), ".svg") {
		return usage.Errorf("%s %q: want a file that ends in .svg", flag, file)
	}
	return nil
}
