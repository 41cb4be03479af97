package enums

import (
	"fmt"
	"iter"
	"strconv"
	"strings"
)

// An Enum is an enumeration of the vendor's software, such as the activations of its compiler, as
// listed in enums.txt.
type Enum struct {
	Name     string
	Vendor   string // the vendor's name
	Source   string // table of the documents
	Evidence string
	Note     string
	Values   []Value // in order; if a number repeats, its first entry gives the name
}

// A Value is a constant of an enumeration: a number and the vendor's name for it.
type Value struct {
	Number uint64
	Name   string
	Note   string
}

// All returns an iterator over all enumerations, in the order of enums.txt.
func All() iter.Seq[Enum] {
	return func(yield func(Enum) bool) {
		for _, e := range table() {
			if !yield(e) {
				return
			}
		}
	}
}

// A Match is a value that [Find] found, and the enumeration to which it belongs.
type Match struct {
	Enum  Enum
	Value Value
}

// Find returns an iterator over all values that have the name or number given by text, in any
// enumeration. It ignores the case of names. Numbers are in Go syntax, such as 18 or 0x12.
func Find(text string) iter.Seq[Match] {
	number, err := strconv.ParseUint(text, 0, 64)
	return func(yield func(Match) bool) {
		for e := range All() {
			for _, v := range e.Values {
				if (strings.EqualFold(v.Name, text) || err == nil && v.Number == number) && !yield(Match{e, v}) {
					return
				}
			}
		}
	}
}

// findValue returns the first value with the given number in the enumeration called enum. It
// returns nil if the enumeration does not exist or has no such number.
func findValue(enum string, number uint64) *Value {
	for i := range table() {
		e := &table()[i]
		if e.Name != enum {
			continue
		}
		for k := range e.Values {
			if e.Values[k].Number == number {
				return &e.Values[k]
			}
		}
	}
	return nil
}

// formatName returns the name of a number in the enumeration called enum or, if the number has no
// name, a text such as "OpType(7)".
func formatName(enum string, number uint64) string {
	if v := findValue(enum, number); v != nil {
		return v.Name
	}
	return fmt.Sprintf("%s(%d)", enum, number)
}
