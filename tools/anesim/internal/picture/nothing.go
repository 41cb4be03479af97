package picture

import (
	"errors"
)

// ErrNothing is the error for a report without what a picture shows.
var ErrNothing = errors.New("nothing to draw")
