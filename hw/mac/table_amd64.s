//go:build !purego

#include "go_asm.h"
#include "textflag.h"

DATA last<>+0(SB)/4, $31
GLOBL last<>(SB), RODATA|NOPTR, $4
DATA thirtytwo<>+0(SB)/4, $0x42000000
GLOBL thirtytwo<>(SB), RODATA|NOPTR, $4

// NAN0 turns NaN into +0.
#define NAN0(X, T) \
	VCMPPS $7, X, X, T \ // ordered
	VANDPS T, X, X

// func evalAVX2(dst *float16.Float16, acc *float32, n int, t *Table, r *tableRow)
//
// Y15 scale, Y14 bias, Y13 what stands for NaN, Y12 the sign bit in ModeOdd,
// Y11 1/step, Y10 base, Y9 32 - base. All cases of Table.eval are computed and
// the right one is blended in last.
TEXT ·evalAVX2(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ acc+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ t+24(FP), DX
	MOVQ r+32(FP), R8
	VBROADCASTSS tableRow_scale(R8), Y15
	VBROADCASTSS tableRow_bias(R8), Y14
	VBROADCASTSS tableRow_nan(R8), Y13
	VXORPS Y12, Y12, Y12
	MOVWLZX Table_mode(DX), AX
	CMPL AX, $const_ModeOdd
	JNE  plain
	VPCMPEQD Y12, Y12, Y12
	VPSLLD $31, Y12, Y12

plain:
	VBROADCASTSS Table_unit(DX), Y11
	VBROADCASTSS Table_base(DX), Y10
	VBROADCASTSS thirtytwo<>(SB), Y9
	VSUBPS Y10, Y9, Y9
	LEAQ Table_knot(DX), R9
	LEAQ Table_rise(DX), R10

loop:
	VMULPS (SI), Y15, Y0
	VCMPPS $3, Y0, Y0, Y1 // unordered
	VBLENDVPS Y1, Y13, Y0, Y0
	VADDPS Y14, Y0, Y0
	NAN0(Y0, Y1)
	VANDPS Y12, Y0, Y8    // sign for the result
	VXORPS Y8, Y0, Y0     // v
	VMULPS Y11, Y0, Y1    // pos

	// Between the knots. The index is held inside for the inputs beyond.
	VADDPS Y10, Y1, Y2
	VXORPS Y3, Y3, Y3
	VMAXPS Y3, Y2, Y2
	VBROADCASTSS thirtytwo<>(SB), Y3
	VMINPS Y3, Y2, Y2
	VCVTTPS2DQ Y2, Y3
	VPBROADCASTD last<>(SB), Y4
	VPMINSD Y4, Y3, Y3
	VCVTDQ2PS Y3, Y4
	VSUBPS Y4, Y2, Y2      // fraction
	VPCMPEQD Y6, Y6, Y6
	VGATHERDPS Y6, (R10)(Y3*4), Y4
	VPCMPEQD Y6, Y6, Y6
	VGATHERDPS Y6, (R9)(Y3*4), Y5
	VMULPS Y4, Y2, Y2
	NAN0(Y2, Y4)
	VADDPS Y5, Y2, Y2

	// The tails.
	VBROADCASTSS Table_lowSlope(DX), Y3
	VBROADCASTSS Table_lowIntercept(DX), Y4
	VMULPS Y3, Y0, Y3
	NAN0(Y3, Y5)
	VADDPS Y4, Y3, Y3
	VXORPS Y4, Y4, Y4
	VSUBPS Y10, Y4, Y4
	VCMPPS $1, Y4, Y1, Y4 // pos < -base
	VBLENDVPS Y4, Y3, Y2, Y2
	VBROADCASTSS Table_highSlope(DX), Y3
	VBROADCASTSS Table_highIntercept(DX), Y4
	VMULPS Y3, Y0, Y3
	NAN0(Y3, Y5)
	VADDPS Y4, Y3, Y3
	VCMPPS $14, Y9, Y1, Y4 // pos > 32 - base
	VBLENDVPS Y4, Y3, Y2, Y2
	NAN0(Y2, Y3)

	// The clamps; the low one is looked at first, so it goes in last.
	VBROADCASTSS Table_clampHigh(DX), Y3
	VBROADCASTSS Table_above(DX), Y4
	VCMPPS $13, Y3, Y0, Y3 // v >= high
	VBLENDVPS Y3, Y4, Y2, Y2
	VBROADCASTSS Table_clampLow(DX), Y3
	VBROADCASTSS Table_below(DX), Y4
	VCMPPS $2, Y3, Y0, Y3 // v <= low
	VBLENDVPS Y3, Y4, Y2, Y2

	VXORPS Y8, Y2, Y2
	VCVTPS2PH $0, Y2, X2  // half to even
	VPCMPEQW X7, X7, X7
	VPSLLW $10, X7, X6
	VPSRLW $1, X7, X7     // 0x7fff
	VPAND  X7, X6, X6     // 0x7c00
	VPAND  X7, X2, X3
	VPBROADCASTW tableRow_top(R8), X4
	VPCMPGTW X4, X3, X4   // above the top
	VPAND  X7, X4, X5
	VPANDN X2, X5, X2
	VPAND  X6, X4, X4
	VPOR   X4, X2, X2

	// ModeOdd has no negative zero.
	VPXOR  X4, X4, X4
	VPCMPEQW X4, X3, X4
	VPACKSSDW X12, X12, X5
	VPAND  X5, X4, X4
	VPANDN X2, X4, X2
	VMOVDQU X2, (DI)
	ADDQ $32, SI
	ADDQ $16, DI
	SUBQ $8, CX
	JNE  loop
	VZEROUPPER
	RET
