package enums

import (
	"fmt"
	"iter"
	"strconv"
	"strings"
)

//go:generate go run ./internal/enumgen

// An Enum is an enumeration as its table has it.
type Enum struct {
	Name     string // of the Go type
	Vendor   string // the vendor's name
	Source   string // where it stands in the documents
	Evidence string
	Note     string
	Values   []Value // in order; of one number several times, the first is its name
}

// A Value is a number and its spelling.
type Value struct {
	Number uint64
	Name   string
	Note   string
}

// All yields every enumeration, in the order of the table.
func All() iter.Seq[Enum] {
	return func(yield func(Enum) bool) {
		for i := range table {
			if !yield(table[i]) {
				return
			}
		}
	}
}

// A Match is a value of an enumeration.
type Match struct {
	Enum  Enum
	Value Value
}

// Find yields every value spelled so, case aside, or of that number where text is one.
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

// A ParseError is a spelling that an enumeration does not have.
type ParseError struct {
	Enum, Text string
}

func (e *ParseError) Error() string { return fmt.Sprintf("no %s is called %q", e.Enum, e.Text) }

// find is the value of a number, nil where it has no name.
func find(e *Enum, number uint64) *Value {
	for i := range e.Values {
		if e.Values[i].Number == number {
			return &e.Values[i]
		}
	}
	return nil
}

func known(e *Enum, number uint64) bool { return find(e, number) != nil }

// spell is the name of a number: NAME(number) where it has none.
func spell(e *Enum, number uint64) string {
	if v := find(e, number); v != nil {
		return v.Name
	}
	return fmt.Sprintf("%s(%d)", e.Name, number)
}

// parse is the number of a name, case aside.
func parse(e *Enum, text string) (uint64, error) {
	for i := range e.Values {
		if strings.EqualFold(e.Values[i].Name, text) {
			return e.Values[i].Number, nil
		}
	}
	return 0, &ParseError{e.Name, text}
}
