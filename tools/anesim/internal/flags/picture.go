package flags

import (
	"path/filepath"
	"strings"

	"anesim/tools/anesim/internal/usage"
)

// CheckSVG checks that file, the value of the named flag, ends in .svg. It returns a *[usage.Error]
// if it does not.
func CheckSVG(flag, file string) error {
	if !strings.EqualFold(filepath.Ext(file), ".svg") {
		return usage.Errorf("%s %q: want a file that ends in .svg", flag, file)
	}
	return nil
}
