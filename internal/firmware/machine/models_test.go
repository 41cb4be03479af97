package machine

import (
	"fmt"
	"os"
	"strings"

	"anesim"
	"anesim/firmware/engine"
)

// checksums returns the checksum of each output as text, with the names of the ports.
func checksums(outputs []engine.Tensor) string {
	var b strings.Builder
	for _, o := range outputs {
		fmt.Fprintf(&b, "%s %s\n", o.Port.Name, engine.Checksum(o.Data))
	}
	return b.String()
}

func noFile(name string) (*anesim.Model, error) { return nil, os.ErrNotExist }
