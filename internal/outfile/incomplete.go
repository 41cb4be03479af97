package outfile

import (
	"io/fs"
	"os"
	"sync"
)

// incomplete holds the names of the temporary files of this process.
var incomplete = struct {
	sync.Mutex
	names map[string]bool
}{names: map[string]bool{}}

// createIncomplete creates a temporary file.
func createIncomplete(name string, mode fs.FileMode) (*os.File, error) {
	incomplete.Lock()
	defer incomplete.Unlock()
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err == nil {
		incomplete.names[name] = true
	}
	return f, err
}

// removeIncomplete removes a temporary file.
func removeIncomplete(name string) {
	os.Remove(name)
	forgetIncomplete(name)
}

// forgetIncomplete says that a temporary file no longer exists.
func forgetIncomplete(name string) {
	incomplete.Lock()
	defer incomplete.Unlock()
	delete(incomplete.names, name)
}

// RemoveIncomplete removes the temporary files of all outputs that are not complete, for a process
// that ends at once. Outputs can no longer be created.
func RemoveIncomplete() {
	incomplete.Lock() // for ever
	for name := range incomplete.names {
		os.Remove(name)
	}
}
