package chip

import (
	"anesim/hw"
	"anesim/hw/spelling"
)

// Default is the name of the preset that is used if no chip is given.
const Default = "m1"

// ByName returns the preset with the given name, such as "m1". For an unknown name the error lists
// the presets.
func ByName(name string) (hw.Chip, error) {
	for _, c := range hw.Chips() {
		if c.Name == name {
			return c, nil
		}
	}
	return hw.Chip{}, spelling.Unknown("chip", name, Names())
}

// Names returns the names of the presets.
func Names() []string {
	var names []string
	for _, c := range hw.Chips() {
		names = append(names, c.Name)
	}
	return names
}
