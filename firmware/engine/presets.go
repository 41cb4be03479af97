package engine

import (
	"anesim/hw/host"
	"anesim/hw/spelling"
)

// HostByName returns the preset of a host. The preset "none" adds no time. The error lists
// the presets.
func HostByName(name string) (host.Host, error) {
	h, err := host.ByName(name)
	if err == nil {
		return h, nil
	}
	return h, spelling.Unknown("host", name, HostNames())
}

// HostNames returns the names of the host presets.
func HostNames() []string {
	var names []string
	for _, h := range host.Presets() {
		names = append(names, h.Name)
	}
	return names
}
