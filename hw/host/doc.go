// Package host is what a call costs outside the engine: binding, the way through the
// driver and the firmware and back, and the conversion between the caller's fp32 and the
// engine's fp16.
//
//	call --floor--> [copy in] --> engine --> [copy out] --> return
//
// The engine model never holds any of it. A preset is one machine with one release of
// its software, fitted by itself: host state must not leak into engine constants.
package host
