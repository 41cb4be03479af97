// Package check compares the costs of models with earlier ones and with given numbers.
//
// [NewEntry] collects the costs of a result: totals, layers, and descriptors with their
// registers. A [Baseline] stores entries in a file that is readable in a diff.
// [Baseline.Check] compares an entry with the stored one of the same name and explains each
// difference by registers, terms of a cost, counters or the model's constants. [Entry.Expect]
// compares an entry with numbers that another tool or a person wrote. [Diff]
// compares two entries item by item, and [RegisterChanges] returns the fields in which two
// descriptors differ.
package check
