// Command regsgen generates the Go types of the register groups from fields.txt.
//
// Run it with go generate in hw/regs. Its test generates all files again and compares them, so the
// table stays the only source.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if err := generateFiles("fields.txt", "."); err != nil {
		fmt.Fprintln(os.Stderr, "regsgen:", err)
		os.Exit(1)
	}
}

// generateFiles generates the files for a table into a directory.
func generateFiles(table, dir string) error {
	text, err := os.ReadFile(table)
	if err != nil {
		return err
	}
	files, err := Generate(text)
	if err != nil {
		return fmt.Errorf("%s: %w", table, err)
	}
	for name, src := range files {
		if err := os.WriteFile(filepath.Join(dir, name), src, 0o644); err != nil {
			return err
		}
	}
	return nil
}
