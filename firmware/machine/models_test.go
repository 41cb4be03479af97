package machine

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"anesim"
	"anesim/firmware/engine"
)

// sharedFiles returns the file names of the real programs that are present.
func sharedFiles() []string {
	dir := filepath.Join("..", "..", "..", "shared", "programs")
	files, _ := filepath.Glob(filepath.Join(dir, "*.hwx"))
	texts, _ := filepath.Glob(filepath.Join(dir, "text", "*.bin"))
	return append(files, texts...)
}

// checksums returns the checksum of each output as text, with the names of the ports.
func checksums(outputs []engine.Tensor) string {
	var b strings.Builder
	for _, o := range outputs {
		fmt.Fprintf(&b, "%s %s\n", o.Port.Name, engine.Checksum(o.Data))
	}
	return b.String()
}

func noFile(name string) (*anesim.Model, error) { return nil, os.ErrNotExist }
