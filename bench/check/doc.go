// Package check compares what models cost with what they cost before.
//
// [NewEntry] takes the costs of a result: totals, layers, and descriptors with their
// registers. A [Baseline] keeps entries in a file that reads well in a diff. [Baseline.Check]
// compares a new entry with the one kept under its name and says what explains each
// difference: a register by name, a term of a cost, a counter, or the model's own constants.
// [Diff] compares two entries layer by layer, and [RegisterChanges] names the fields in which
// two descriptors differ.
package check
