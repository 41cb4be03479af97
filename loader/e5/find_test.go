package e5

import (
	"testing"
	"testing/fstest"
)

// TestFind finds the container of an inference by its hash, whatever it is called.
func TestFind(t *testing.T) {
	one, other := part(t, product(64)), part(t, product(128))
	p, err := New(seven(), one, other, one)
	if err != nil {
		t.Fatal(err)
	}
	hash := func(i int) string { return p.Sections[2*i+3].Inference.Hash }
	changed := append([]byte(nil), other.Container...)
	changed[len(changed)-1] ^= 1
	found, err := p.Find(fstest.MapFS{
		"b.hwx": {Data: one.Container}, "a.hwx": {Data: one.Container}, "changed.hwx": {Data: changed},
		"notes.txt": {Data: []byte("no container")}, "empty": {}, "below/other.hwx": {Data: other.Container},
	})
	if err != nil || len(found) != 1 || found[hash(0)] != "a.hwx" || hash(2) != hash(0) {
		t.Errorf("found %q, %v", found, err)
	}
}
