package lower

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestExamplesAsRecorded holds the examples to their files, byte for byte: the reader's
// own tests are over those files.
func TestExamplesAsRecorded(t *testing.T) {
	for _, name := range Examples() {
		want, err := os.ReadFile(filepath.Join("..", "testdata", "examples", name+".hwx"))
		if err != nil {
			t.Fatal(err)
		}
		got, err := Example(name)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Equal(got, want) {
			continue
		}
		if len(got) != len(want) {
			t.Errorf("%s: %d bytes, want %d", name, len(got), len(want))
			continue
		}
		n := 0
		for i := 0; i < len(got); i += 4 {
			if !bytes.Equal(got[i:i+4], want[i:i+4]) {
				if n++; n > 20 {
					break
				}
				t.Errorf("%s: bytes at %#x: % x, want % x", name, i, got[i:i+4], want[i:i+4])
			}
		}
	}
}
