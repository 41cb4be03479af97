//go:build !linux

package command

import "testing"

func smallDisk(t *testing.T) string {
	t.Skip("a file system of its own is made on Linux alone")
	return ""
}
