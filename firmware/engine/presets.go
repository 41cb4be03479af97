package engine

import (
	"anesim/hw"
	"anesim/hw/host"
	"anesim/hw/spelling"
)

// ChipByName returns a chip's preset, such as "m1". The error lists the presets.
func ChipByName(name string) (hw.Chip, error) {
	c, err := hw.ChipByName(name)
	if err == nil {
		return c, nil
	}
	return c, spelling.Unknown("chip", name, ChipNames())
}

// ChipNames lists the chips' presets.
func ChipNames() []string {
	var names []string
	for _, c := range hw.Chips() {
		names = append(names, c.Name)
	}
	return names
}

// HostByName returns a host's preset; "none" adds nothing. The error lists the presets.
func HostByName(name string) (host.Host, error) {
	h, err := host.ByName(name)
	if err == nil {
		return h, nil
	}
	return h, spelling.Unknown("host", name, HostNames())
}

// HostNames lists the hosts' presets.
func HostNames() []string {
	var names []string
	for _, h := range host.Presets() {
		names = append(names, h.Name)
	}
	return names
}
