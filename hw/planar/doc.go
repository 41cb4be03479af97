// Package planar is the numbers of the planar engine, the unit beside the
// sixteen multiply-accumulate engines that works on whole planes: sums and
// products of two tensors, reductions. It knows no time, no address
// and no descriptor; the device hands it slices of fp16 values and shapes.
//
//	 L2                                                          L2
//	──────┐  ┌─────┐ ±   ┌────┐  +Bias  ┌────────┐  +Eps   ┌───────┐  ┌─────┐
//	src 1 ├─▶│ NaN ├────▶│    │  ×Scale │  over  │  ×Pre   │ rsqrt │  │ RNE │
//	      │  │  ↓  │     │ op ├────────▶│  axes  ├────────▶│ ReLU  ├─▶│ to  ├─▶
//	src 2 ├─▶│ Inf ├────▶│    │         │  none  │ ×Final  │       │  │ half│
//	──────┘  └─────┘ ±   └────┘         └────────┘         └───────┘  └─────┘
//	          ReLU   add mul max min
//	         (src 2) (a+b)^2
//
// A task is a [Config]: the four PE words as values. [FromWords] reads them and
// holds what each bit means and which program says so. The element-wise methods
// ([Config.Apply] and its neighbours) take flat slices; reductions and
// broadcasting take a [Source] and its [Shape]. Chains of such tasks, a layer norm
// or a softmax, are the device's to walk: each task's result is rounded to fp16 as
// the L2 keeps it.
//
// # What the numbers do
//
// Inputs use the whole range of fp16, denormals included. A NaN at an input
// is +Inf; nothing produces a NaN: inf - inf and 0 * inf are +0. x + 0 turns -0
// into +0. A result rounds once, half to even, and becomes infinite at 65520.
// These are measured on M1. What had to be chosen stands in stages.go.
//
// # Speed
//
// The Go code is the specification. On amd64 the four simple operations and the stages behind
// them have loops of AVX2 and of AVX-512, and reductions of elements as they are have loops of
// AVX-512, unless built with -tags purego; tests hold them to the Go code bit for bit, over
// every half and every length.
package planar
