// Package pattern changes a graph where the engine has more for a whole than for its parts.
//
// Exporters write an operator in pieces: a GELU is five nodes, a norm seven. The engine does
// the one with a table and the other with a chain of its own, so that pieces are found and
// taken as the operator that they are ([Find]). Frameworks disagree on where channels stand,
// which leaves transposes that undo each other, and each of them moves a whole tensor:
// [Straighten] takes them out. Both look at nodes and tensors alone; whether the engine takes
// what was found is decided later.
package pattern
