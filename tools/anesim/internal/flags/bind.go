package flags

import (
	"strconv"
	"strings"

	"anesim/tools/anesim/internal/usage"
)

// Bindings reads NAME=VALUE words.
func Bindings(words []string) (map[string]uint64, error) {
	bind := make(map[string]uint64)
	for _, s := range words {
		name, value, ok := strings.Cut(s, "=")
		n, err := strconv.ParseUint(value, 0, 42)
		if !ok || name == "" || err != nil {
			return nil, usage.Errorf("--bind %q: want NAME=VALUE, a number", s)
		}
		if _, twice := bind[name]; twice {
			return nil, usage.Errorf("--bind %s is given twice", name)
		}
		bind[name] = n
	}
	return bind, nil
}
