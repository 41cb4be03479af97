package sweep

import (
	"math"
	"strconv"
	"strings"

	"anesim/hw/chip"
)

// steps is how fine a constant's range is divided.
const steps = 1 << 12

// A knob is a constant with its range.
type knob struct {
	name     string
	low, top float64
}

// at is the value of a step from 0 to steps, in equal ratios.
func (k *knob) at(step int) float64 {
	switch step {
	case 0:
		return k.low
	case steps:
		return k.top
	}
	v := k.low * math.Pow(k.top/k.low, float64(step)/steps)
	// Six digits are the same on every machine, whose last ones may differ.
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
	return min(max(v, k.low), k.top)
}

// near is the step whose value is next to v.
func (k *knob) near(v float64) int {
	v = min(max(v, k.low), k.top)
	return int(math.Round(steps * math.Log(v/k.low) / math.Log(k.top/k.low)))
}

// parseKnob reads chip.NAME=FROM..TO.
func parseKnob(word string) (knob, error) {
	name, list, _ := strings.Cut(word, "=")
	name, isChip := strings.CutPrefix(name, ChipPrefix)
	from, to, isRange := strings.Cut(list, "..")
	low, err1 := strconv.ParseFloat(from, 64)
	top, err2 := strconv.ParseFloat(to, 64)
	if !isChip || !isRange || err1 != nil || err2 != nil {
		return knob{}, wrong("%q: want chip.NAME=FROM..TO", word)
	}
	if !(low > 0 && top > low) || math.IsInf(top, 0) {
		return knob{}, wrong("%q: want a range from more than 0 up", word)
	}
	c, err := chip.ByName(chip.Default)
	if err != nil {
		return knob{}, err
	}
	for _, v := range [...]float64{low, top} {
		if err := chip.Set(&c, name, v); err != nil {
			return knob{}, wrong("%v", err)
		}
	}
	// Between two whole numbers of the range there is a half, which only a count refuses.
	if chip.Set(&c, name, low+min(0.5, top-low)) != nil {
		return knob{}, wrong("%s: takes whole numbers; anesim sweep varies them", name)
	}
	return knob{name, low, top}, nil
}
