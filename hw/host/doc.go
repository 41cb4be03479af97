// Package host models the cost of a call outside the engine: binding, the path through driver and
// firmware and back, and the conversion between the caller's fp32 and the engine's fp16.
//
//	call --floor--> [copy in] --> engine --> [copy out] --> return
//
// The engine model does not include these costs. A preset is one machine with one release of its
// software and is fitted separately, because the state of a host must not affect the constants of
// an engine.
package host
