//go:build !purego

#include "textflag.h"
#include "round_amd64.h"
#include "sixteen_avx512_amd64.h"

// func narrowRowAVX512(dst *float16.Float16, acc *float32, n int, least float32)
//
// No accumulator is a NaN.
TEXT ·narrowRowAVX512(SB), NOSPLIT, $0-28
	MOVQ dst+0(FP), DI
	MOVQ acc+8(FP), SI
	MOVQ n+16(FP), CX
	VBROADCASTSS least+24(FP), Z2
	VPXORD Z1, Z1, Z1
	ROUND_CONSTANTS(X3, X4, X5, Z3, Z4, Z5)
	KXNORW K1, K1, K1

next:
	MASK
	VMOVUPS.Z (SI), K1, Z0
	VADDPS Z1, Z0, Z0 // -0 becomes +0
	VMAXPS Z2, Z0, Z0
	VPADDD Z3, Z0, Z0
	VPANDD Z4, Z0, Z0
	VMULPS Z5, Z0, Z0
	VCVTPS2PH $0, Z0, K1, (DI)
	ADDQ $64, SI
	ADDQ $32, DI
	SUBQ $16, CX
	JGT  next
	VZEROUPPER
	RET
