package flags

import (
	"strconv"
	"strings"

	"anesim/tools/anesim/internal/usage"
)

// ParseBindings parses the arguments of --bind, which have the form NAME=VALUE, and returns the
// values by name. Values are unsigned integers of at most 42 bits.
func ParseBindings(words []string) (map[string]uint64, error) {
	bind := make(map[string]uint64)
	for _, s := range words {
		name, value, ok := strings.Cut(s, "=")
		n, err := strconv.ParseUint(value, 0, 42)
		if !ok || name == "" || err != nil {
			return nil, usage.Errorf("--bind %q: want NAME=VALUE with a number below 2^42", s)
		}
		if _, twice := bind[name]; twice {
			return nil, usage.Errorf("duplicate --bind %s", name)
		}
		bind[name] = n
	}
	return bind, nil
}
