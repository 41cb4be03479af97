//go:build !purego

#include "textflag.h"

// func widenF16C(dst *float32, src *float16.Float16, n int)
TEXT ·widenF16C(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	VPCMPEQD Y15, Y15, Y15
	VPSLLD $24, Y15, Y15
	VPSRLD $1, Y15, Y15 // 0x7f800000, infinity

loop:
	PREFETCHT0 2048(SI) // read 128 times later, as memory takes that long
	PREFETCHT0 4096(DI)
	VCVTPH2PS (SI), Y0
	VCMPPS $3, Y0, Y0, Y1 // unordered: NaN
	VBLENDVPS Y1, Y15, Y0, Y0
	VMOVUPS Y0, (DI)
	ADDQ $16, SI
	ADDQ $32, DI
	SUBQ $8, CX
	JNE  loop
	VZEROUPPER
	RET

// func narrowAVX2(dst *float16.Float16, acc *float32, n int, scale, bias, low float32)
TEXT ·narrowAVX2(SB), NOSPLIT, $0-36
	MOVQ dst+0(FP), DI
	MOVQ acc+8(FP), SI
	MOVQ n+16(FP), CX
	VBROADCASTSS scale+24(FP), Y15
	VBROADCASTSS bias+28(FP), Y14
	VBROADCASTSS low+32(FP), Y13
	MOVL   $0x47800000, AX // 65536, which becomes infinity
	VMOVD  AX, X12
	VPBROADCASTD X12, Y12
	VXORPS Y11, Y11, Y11

loop:
	PREFETCHT0 4096(SI)
	VMULPS (SI), Y15, Y0
	VCMPPS $7, Y0, Y0, Y1 // ordered
	VANDPS Y1, Y0, Y0
	VADDPS Y14, Y0, Y0
	VCMPPS $7, Y0, Y0, Y1
	VANDPS Y1, Y0, Y0
	VMAXPS Y13, Y0, Y0    // of two zeros +0, if that is the lowest value
	VMINPS Y12, Y0, Y0

	// A last place of 1 moves ties away from zero and nothing else across a tie. Zeros have none,
	// because operands below the smallest normal number are slow.
	VCMPPS $4, Y11, Y0, Y1 // not equal
	VPSRLD $31, Y1, Y1
	VPOR   Y1, Y0, Y0
	VCVTPS2PH $0, Y0, (DI)
	ADDQ $32, SI
	ADDQ $16, DI
	SUBQ $8, CX
	JNE  loop
	VZEROUPPER
	RET
