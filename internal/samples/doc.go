// Package samples has the models that tests of several packages run on the engine: layers,
// networks and programs that share it, and a program whose height is a run-time parameter.
// Only tests import it.
package samples
