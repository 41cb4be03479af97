package engine

import (
	"anesim/hw/host"
	"anesim/internal/spelling"
)

// HostByName returns the host preset with the given name. The preset "none" adds no time to a call.
// If there is no such preset, the error lists the names of all presets.
func HostByName(name string) (host.Host, error) {
	h, err := host.ByName(name)
	if err == nil {
		return h, nil
	}
	return h, spelling.Unknown("host", name, HostNames())
}

// HostNames returns the names of all host presets.
func HostNames() []string {
	var names []string
	for _, h := range host.Presets() {
		names = append(names, h.Name)
	}
	return names
}
