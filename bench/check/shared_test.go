package check_test

import (
	"strings"
	"testing"

	"anesim"
)

// readNetwork reads a network's YAML, and ends the test where that fails.
func readNetwork(t *testing.T, text string) *anesim.Model {
	t.Helper()
	m, err := anesim.Read("net.yaml", strings.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	return m
}
