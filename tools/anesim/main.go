// Command anesim runs compiled programs of the Apple M1 neural engine on a model of it:
// the values the engine would compute, the cycles and what they wait for, the bytes
// moved and the energy. See the README, or anesim -h.
package main

import (
	"os"

	"anesim/tools/anesim/internal/command"
)

func main() {
	os.Exit(command.Main(os.Args[1:], os.Stdout, os.Stderr))
}
