// Package bundle encodes lowered networks as bytes, and identifies networks that are lowered
// alike.
//
// Lowering a large network takes longer than running it once, so its programs are worth
// keeping. [WriteStructure] and [WriteWeights] write everything that the programs depend on,
// and [Encode] encodes the programs.
package bundle
