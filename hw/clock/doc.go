// Package clock defines the units of the model: engine cycles, the frequency that converts them to
// time, and energy.
//
// The engine has one clock and no frequency scaling of its own. The other packages count in its
// cycles, and only reports convert them to seconds:
//
//	unit rates (bytes or elements per cycle) --> Cycles --> Hertz.Time --> ns
//	counted events x Picojoules each         --> Nanojoules
package clock
