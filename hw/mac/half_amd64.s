//go:build !purego

#include "textflag.h"

// func widenF16C(dst *float32, src *float16.Float16, n int)
TEXT ·widenF16C(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	VPCMPEQW X15, X15, X15
	VPSRLW $1, X15, X14  // 0x7fff
	VPSRLW $6, X15, X13  // 0x03ff, largest denormal
	VPSLLW $10, X15, X12
	VPAND  X14, X12, X12 // 0x7c00, infinity
	VPXOR  X11, X11, X11

loop:
	PREFETCHT0 2048(SI) // read 128 times later, as memory takes that long
	PREFETCHT0 4096(DI)
	VMOVDQU (SI), X0
	VPAND   X14, X0, X1    // magnitude
	VPCMPGTW X12, X1, X2   // NaN
	VPBLENDVB X2, X12, X0, X0
	VPCMPGTW X13, X1, X3   // normal or beyond
	VPCMPEQW X11, X1, X4   // either zero
	VPOR    X4, X3, X3
	VPAND   X3, X0, X0
	VCVTPH2PS X0, Y0
	VMOVUPS Y0, (DI)
	ADDQ $16, SI
	ADDQ $32, DI
	SUBQ $8, CX
	JNE  loop
	VZEROUPPER
	RET

// func widenExactF16C(dst *float32, src *float16.Float16, n int)
TEXT ·widenExactF16C(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	VPCMPEQD Y15, Y15, Y15
	VPSLLD $24, Y15, Y15
	VPSRLD $1, Y15, Y15 // 0x7f800000, infinity

exact:
	PREFETCHT0 2048(SI)
	VCVTPH2PS (SI), Y0
	VCMPPS $3, Y0, Y0, Y1 // unordered
	VBLENDVPS Y1, Y15, Y0, Y0
	VMOVUPS Y0, (DI)
	ADDQ $16, SI
	ADDQ $32, DI
	SUBQ $8, CX
	JNE  exact
	VZEROUPPER
	RET

// func narrowF16C(dst *float16.Float16, acc *float32, n int, scale, bias, floor float32, top uint16)
TEXT ·narrowF16C(SB), NOSPLIT, $0-38
	MOVQ dst+0(FP), DI
	MOVQ acc+8(FP), SI
	MOVQ n+16(FP), CX
	VBROADCASTSS scale+24(FP), Y15
	VBROADCASTSS bias+28(FP), Y14
	VBROADCASTSS floor+32(FP), Y13
	VPBROADCASTW top+36(FP), X12
	VPCMPEQW X11, X11, X11
	VPSLLW $10, X11, X10
	VPSRLW $1, X11, X11   // 0x7fff
	VPAND  X11, X10, X10  // 0x7c00

loop:
	PREFETCHT0 4096(SI)
	VMULPS (SI), Y15, Y0
	VCMPPS $7, Y0, Y0, Y1 // ordered
	VANDPS Y1, Y0, Y0
	VADDPS Y14, Y0, Y0
	VCMPPS $7, Y0, Y0, Y1
	VANDPS Y1, Y0, Y0
	VMAXPS Y13, Y0, Y0    // of two zeros the floor's +0
	VCVTPS2PH $0, Y0, X0  // half to even
	VPAND  X11, X0, X1
	VPCMPGTW X12, X1, X2  // above the top
	VPAND  X11, X2, X3
	VPANDN X0, X3, X0
	VPAND  X10, X2, X2
	VPOR   X2, X0, X0
	VMOVDQU X0, (DI)
	ADDQ $32, SI
	ADDQ $16, DI
	SUBQ $8, CX
	JNE  loop
	VZEROUPPER
	RET
