// Command commandgen generates the controller's command numbers from commands.txt.
//
// Run it with go generate in internal/firmware/command. Its test generates the file again and compares.
package main

import (
	"fmt"
	"os"
)

func main() {
	if err := generateFile("commands.txt", "commands_gen.go"); err != nil {
		fmt.Fprintln(os.Stderr, "commandgen:", err)
		os.Exit(1)
	}
}

// generateFile generates the file out for a table.
func generateFile(table, out string) error {
	text, err := os.ReadFile(table)
	if err != nil {
		return err
	}
	src, err := Generate(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", table, err)
	}
	return os.WriteFile(out, src, 0o644)
}
