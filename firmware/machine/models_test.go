package machine

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"anesim"
	"anesim/firmware/engine"
)

// sharedFiles lists the real programs that are there.
func sharedFiles() []string {
	dir := filepath.Join("..", "..", "..", "shared", "programs")
	files, _ := filepath.Glob(filepath.Join(dir, "*.hwx"))
	texts, _ := filepath.Glob(filepath.Join(dir, "text", "*.bin"))
	return append(files, texts...)
}

// checksums returns the checksums of outputs, by port.
func checksums(outputs []engine.Tensor) string {
	var b strings.Builder
	for _, o := range outputs {
		fmt.Fprintf(&b, "%s %s\n", o.Port.Name, engine.Checksum(o.Data))
	}
	return b.String()
}

func noFile(name string) (*anesim.Model, error) { return nil, os.ErrNotExist }
