package enums

import (
	"fmt"
	"iter"
	"strconv"
	"strings"
)

// An Enum is an enumeration of enums.txt.
type Enum struct {
	Name     string
	Vendor   string // the vendor's name
	Source   string // table of the documents
	Evidence string
	Note     string
	Values   []Value // in order; if a number repeats, its first entry gives the name
}

// A Value is a number with its spelling.
type Value struct {
	Number uint64
	Name   string
	Note   string
}

// All yields every enumeration in the order of enums.txt.
func All() iter.Seq[Enum] {
	return func(yield func(Enum) bool) {
		for _, e := range table() {
			if !yield(e) {
				return
			}
		}
	}
}

// A Match is a value together with its enumeration.
type Match struct {
	Enum  Enum
	Value Value
}

// Find yields every value whose spelling equals text, ignoring case, or whose number is
// text.
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

// find returns the first value with a number in an enumeration, or nil if the number has no
// name.
func find(enum string, number uint64) *Value {
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

// formatName returns the name of a number in an enumeration, or ENUM(number) if it has
// none.
func formatName(enum string, number uint64) string {
	if v := find(enum, number); v != nil {
		return v.Name
	}
	return fmt.Sprintf("%s(%d)", enum, number)
}
