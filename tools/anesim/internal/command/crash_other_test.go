//go:build !linux

package command

import "testing"

func smallDisk(t *testing.T) string {
	t.Skip("filling a disk takes one that the test mounts, which it does on Linux alone")
	return ""
}

func limitProcess(uint64) {}
