// Command enumgen writes the Go types of the enumerations from enums.txt.
//
// Run it from loader/enums through go generate; its test regenerates the file and
// compares, so the table stays the only source.
package main

import (
	"fmt"
	"os"
)

func main() {
	if err := run("enums.txt", "enums_gen.go"); err != nil {
		fmt.Fprintln(os.Stderr, "enumgen:", err)
		os.Exit(1)
	}
}

func run(table, out string) error {
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
