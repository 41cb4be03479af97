package chip

import (
	"anesim/hw"
	"anesim/internal/spelling"
)

// Default is the name of the chip that is simulated if the caller does not choose one.
const Default = "m1"

// ByName returns the preset with the given name, such as "m1". If there is none, the error lists
// the names of all presets.
func ByName(name string) (hw.Chip, error) {
	for _, c := range hw.Chips() {
		if c.Name == name {
			return c, nil
		}
	}
	return hw.Chip{}, spelling.Unknown("chip", name, Names())
}

// Names returns the names of all presets, such as "m1", in the order of [hw.Chips].
func Names() []string {
	var names []string
	for _, c := range hw.Chips() {
		names = append(names, c.Name)
	}
	return names
}
