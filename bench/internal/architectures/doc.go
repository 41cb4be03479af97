// Package architectures writes published networks, such as ResNet-50 and GPT-2, as texts that
// loader/network reads. Whole networks were timed on real machines, and package bench compares these
// times with the model's.
//
//	layerlist.go   layers as YAML   <-- convolutional.go, phones.go, transformers.go (LlamaMLP)
//	milprogram.go  a MIL program    <-- transformers.go
//
// The shapes of layers are those of the publications. Weights are pseudo-random, because values do not
// affect the time.
package architectures
