// Package clock holds the units the model counts in: engine cycles, the frequency that
// turns them into time, and energy.
//
// The engine has one clock and no frequency scaling of its own; everything timed in the
// other packages is a number of its cycles, and only reports turn cycles into seconds:
//
//	unit rates (bytes or elements a cycle) --> Cycles --> Frequency.Time --> ns
//	counted events x Energy each           --> Energy                    --> nJ
package clock
