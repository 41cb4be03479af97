package sweep

import (
	"math"
	"strconv"
	"strings"

	"anesim/hw/chip"
)

// knobSteps is the number of steps into which the range of a knob is divided.
const knobSteps = 1 << 12

// A knob is a constant of the chip and the range in which a search varies it.
type knob struct {
	name     string
	low, top float64
}

// valueAt returns the value of a step from 0 to knobSteps. The ratio between consecutive
// values is constant.
func (k *knob) valueAt(step int) float64 {
	switch step {
	case 0:
		return k.low
	case knobSteps:
		return k.top
	}
	v := k.low * math.Pow(k.top/k.low, float64(step)/knobSteps)
	// Round to six digits, because the last digits differ between machines.
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
	return min(max(v, k.low), k.top)
}

// nearestStep returns the step whose value is nearest to v on a logarithmic scale. A value
// out of range counts as the end of the range.
func (k *knob) nearestStep(v float64) int {
	v = min(max(v, k.low), k.top)
	return int(math.Round(knobSteps * math.Log(v/k.low) / math.Log(k.top/k.low)))
}

// parseKnob parses chip.NAME=FROM..TO. It refuses constants that take whole numbers only.
func parseKnob(word string) (knob, error) {
	name, list, _ := strings.Cut(word, "=")
	name, isChip := strings.CutPrefix(name, ChipPrefix)
	from, to, isRange := strings.Cut(list, "..")
	low, err1 := strconv.ParseFloat(from, 64)
	top, err2 := strconv.ParseFloat(to, 64)
	if !isChip || !isRange || err1 != nil || err2 != nil {
		return knob{}, argumentErrorf("malformed constant %q; want chip.NAME=FROM..TO", word)
	}
	if !(low > 0 && top > low) || math.IsInf(top, 0) {
		return knob{}, argumentErrorf("invalid range %q; want a positive start below the end", word)
	}
	c, err := chip.ByName(chip.Default)
	if err != nil {
		return knob{}, err
	}
	for _, v := range [...]float64{low, top} {
		if err := chip.Set(&c, name, v); err != nil {
			return knob{}, argumentErrorf("%v", err)
		}
	}
	// A value between two whole numbers is refused only for a count.
	if chip.Set(&c, name, low+min(0.5, top-low)) != nil {
		return knob{}, argumentErrorf("%s has whole numbers only; vary it with anesim sweep", name)
	}
	return knob{name, low, top}, nil
}
