package report

import (
	"fmt"
	"strconv"

	"anesim/hw/clock"
)

// A Value is the content of a table cell. Each output format has its own text for it, such as "1.84
// MB" for a size on a terminal and a plain number of bytes in CSV.
type Value struct {
	kind kind
	text string
	n    uint64
	v    float64
}

type kind uint8

const (
	noValue   kind = iota // "-" to a person, an empty cell in CSV
	textValue             // of ours
	nameValue             // from a file
	causeValue
	positionValue
	countValue
	sizeValue
	rateValue
	shareValue
	timeValue
	energyValue
	numberValue
)

// none is the value of an empty cell, which is "-" on a terminal and an empty field in CSV.
var none Value

func newTextValue(s string) Value             { return Value{kind: textValue, text: s} }
func newNameValue(s string) Value             { return Value{kind: nameValue, text: s} }
func newCauseValue(s string) Value            { return Value{kind: causeValue, text: s} }
func newRateValue(v float64) Value            { return Value{kind: rateValue, v: v} }
func newShareValue(v float64) Value           { return Value{kind: shareValue, v: v} }
func newNumberValue(v float64) Value          { return Value{kind: numberValue, v: v} }
func newTimeValue(t clock.Nanoseconds) Value  { return Value{kind: timeValue, v: float64(t)} }
func newEnergyValue(e clock.Nanojoules) Value { return Value{kind: energyValue, v: float64(e)} }
func newSizeValue(n uint64) Value             { return Value{kind: sizeValue, n: n} }
func newPositionValue[T integer](n T) Value   { return Value{kind: positionValue, n: uint64(n)} }
func newCountValue[T integer](n T) Value      { return Value{kind: countValue, n: uint64(n)} }

type integer interface {
	~int | ~uint16 | ~uint32 | ~uint64
}

// String returns the value as terminals and HTML pages show it, with a unit and few digits.
func (v Value) String() string {
	switch v.kind {
	case noValue:
		return "-"
	case nameValue:
		return Printable(v.text)
	case causeValue:
		return CauseText(v.text)
	case positionValue:
		return strconv.FormatUint(v.n, 10)
	case countValue:
		return Thousands(v.n)
	case sizeValue:
		return Size(v.n)
	case rateValue:
		return Rate(v.v)
	case shareValue:
		return fmt.Sprintf("%.1f%%", v.v)
	case timeValue:
		return TimeText(clock.Nanoseconds(v.v))
	case energyValue:
		return EnergyText(clock.Nanojoules(v.v))
	case numberValue:
		return Number(v.v)
	}
	return v.text
}

// Number returns the number by which tables sort the value, in the same unit as in CSV. It returns
// ok = false if the value is text or empty.
func (v Value) Number() (number float64, ok bool) {
	switch v.kind {
	case positionValue, countValue, sizeValue:
		return float64(v.n), true
	case rateValue, shareValue, timeValue, energyValue, numberValue:
		return v.v, true
	}
	return 0, false
}

// appendCSV appends the value to b as a CSV field. Numbers have up to nine digits; times are in
// nanoseconds, energies in nanojoules and sizes in bytes.
func (v Value) appendCSV(b []byte) []byte {
	switch v.kind {
	case noValue:
		return b
	case nameValue:
		return append(b, Cell(v.text)...)
	case positionValue, countValue, sizeValue:
		return strconv.AppendUint(b, v.n, 10)
	case rateValue, shareValue, timeValue, energyValue, numberValue:
		return appendNumber(b, v.v)
	}
	return append(b, v.text...)
}
