package picture

import (
	"errors"
)

// ErrNothing is returned for a report without the numbers that a picture shows.
var ErrNothing = errors.New("nothing to draw")
