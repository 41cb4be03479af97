// Package probecommand implements "anesim probe", whose subcommands write a probe of the engine's
// arithmetic for a machine that has one, read its results, and compute the model's own. Package
// internal/probe makes the probe and compares results.
package probecommand
