// Package planar models the arithmetic of the planar engine, the unit next to the sixteen
// multiply-accumulate engines that works on whole planes: sums and products of two tensors, and
// reductions. It does not model time, addresses or descriptors. The device passes it slices of fp16
// values and shapes.
//
//	 L2                                                          L2
//	──────┐  ┌─────┐ ±   ┌────┐  +Bias  ┌────────┐  +Eps   ┌───────┐  ┌─────┐
//	src 1 ├─▶│ NaN ├────▶│    │  ×Scale │  over  │  ×Pre   │ rsqrt │  │round│
//	      │  │  ↓  │     │ op ├────────▶│  axes  ├────────▶│ ReLU  ├─▶│ to  ├─▶
//	src 2 ├─▶│ Inf ├────▶│    │         │  none  │ ×Final  │       │  │ half│
//	──────┘  └─────┘ ±   └────┘         └────────┘         └───────┘  └─────┘
//	          ReLU   add mul max min
//	         (src 2) (a+b)^2
//
// A task is a [Config]. [FromFields] makes one of the fields of the engine's registers, [Fields],
// which document the meaning of each, with the program that shows it. The elementwise methods such as
// [Config.Apply] take flat slices. Reductions and broadcasting take a [Source] with its [Shape].
// The device runs chains of such tasks, for example for a layer norm or a softmax, and rounds each
// task's result to fp16 as L2 stores it.
//
// # Arithmetic
//
// Inputs use the whole range of fp16, including denormals. A NaN at an input is treated as +Inf. No
// operation produces a NaN: inf - inf and 0 * inf are +0. x + 0 turns -0 into +0. A result is
// rounded to 11 significant bits and then, if it is below 2^-14, to a multiple of 2^-24, both with
// ties away from zero. It becomes infinite from 65520 on. These rules are measured: the ties of sums
// on M6 (2048 + 1 = 2050), the two steps of products on M1 (see narrowToHalf), the others on M1. The
// assumed rules are listed in stages.go.
//
// # Speed
//
// The Go code defines the results. On amd64, unless built with -tags purego, the four simple
// operations and the stages after them have loops for AVX2 and AVX-512, and reductions of
// unmodified elements have loops for AVX-512. Tests compare them bit for bit with the Go code, over
// every half and every length.
package planar
