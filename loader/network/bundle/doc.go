// Package bundle keeps lowered networks as bytes, and says which networks are lowered alike.
//
// Lowering a large network takes longer than to run it once, so that its programs are kept.
// [WriteStructure] and [WriteWeights] write what programs depend on, [Encode] the programs.
package bundle
