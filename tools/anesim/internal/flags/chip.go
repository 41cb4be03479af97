package flags

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"anesim"
	"anesim/hw"
	"anesim/hw/chip"
	"anesim/hw/clock"
	"anesim/hw/machine"
	"anesim/tools/anesim/internal/input"
	"anesim/tools/anesim/internal/usage"
)

// ReadChip sets o.Chip to the chip with the given name, which is the name of a preset or of a file. A name
// with a dot or a slash is that of a file, unless a preset has this name. Changes to constants may follow,
// as in "m1,Clock=1.2e9". If mhz is not 0, the engine runs at that clock state, which scales some
// constants; changes are made after that, so that a constant has the value that the user gave.
func ReadChip(o *anesim.Options, name string, mhz int) (err error) {
	// The last comma comes first, so that changes may follow the name of a file with commas.
	if i := strings.LastIndexByte(name, ','); i >= 0 {
		if _, err := os.Stat(name); err != nil { // there is no file with that name
			if err := ReadChip(o, name[:i], mhz); err != nil {
				return err
			}
			return setChipConstant("--chip", &o.Chip, name[i+1:])
		}
	}
	if !strings.ContainsAny(name, "./"+string(filepath.Separator)) || slices.Contains(chip.Names(), name) {
		if o.Chip, err = chip.ByName(name); err != nil {
			return usage.Of(err)
		}
		return setClock(o, mhz)
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return input.InFile(name, errors.New("is a directory; want a file"))
	}
	if o.Chip, err = chip.Read(f); err != nil {
		return input.InFile(name, err)
	}
	return setClock(o, mhz)
}

// setClock sets the engine of o to the clock state of mhz, if that is not 0.
func setClock(o *anesim.Options, mhz int) error {
	switch {
	case mhz < 0:
		return usage.Errorf("--clock %d: want a clock state in MHz", mhz)
	case mhz == 0:
		return nil
	}
	if err := machine.CheckState(o.Chip.Name, mhz); err != nil {
		return usage.Of(err)
	}
	o.Chip = o.Chip.AtClock(clock.Hertz(mhz) * 1e6)
	return nil
}

// setChipConstant sets the constant of a chip that word, of the form NAME=VALUE in the value of the given
// flag, names.
func setChipConstant(flag string, c *hw.Chip, word string) error {
	name, value, _ := strings.Cut(word, "=")
	v, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return usage.Errorf("%s: %q: want CONSTANT=NUMBER", flag, word)
	}
	if err := chip.Set(c, name, v); err != nil {
		return usage.Of(fmt.Errorf("%s: %w", flag, err))
	}
	return nil
}
