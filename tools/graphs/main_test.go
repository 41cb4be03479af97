package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"anesim/bench/randomgraph"
)

// Each seed has a directory with a network that can be read back, and the same seed gives the
// same network whatever the first seed was.
func TestWrite(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	if err := writeGraphs(first, 7, 2, randomgraph.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := writeGraphs(second, 8, 1, randomgraph.Options{}); err != nil {
		t.Fatal(err)
	}
	a, err := os.ReadFile(filepath.Join(first, "8", "net.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(second, "8", "net.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a, b) {
		t.Error("seed 8 gives another network behind seed 7 than by itself")
	}
	if want := randomgraph.New(8, randomgraph.Options{}).Encode(); !bytes.Equal(a, want) {
		t.Error("net.onnx is not the graph of its seed")
	}
}
