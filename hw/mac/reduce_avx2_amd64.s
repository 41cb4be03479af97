//go:build !purego

#include "textflag.h"
#include "reduce_avx2_amd64.h"

// func reduce32AVX2(acc, panel, taps *float32, k int, stride uintptr, limit float32) (void bool)
//
// Y0-Y3 tile sums, Y4-Y7 accumulators, Y8 their largest magnitude, Y9 the largest
// exponent field.
TEXT ·reduce32AVX2(SB), NOSPLIT, $0-49
	MOVQ acc+0(FP), DI
	MOVQ panel+8(FP), SI
	MOVQ taps+16(FP), DX
	MOVQ k+24(FP), CX
	MOVQ stride+32(FP), R8
	LEAQ (R8*8), R9
	CONSTANTS
	VXORPS Y4, Y4, Y4
	VXORPS Y5, Y5, Y5
	VXORPS Y6, Y6, Y6
	VXORPS Y7, Y7, Y7
	VXORPS Y8, Y8, Y8
	VXORPS Y9, Y9, Y9
	SUBQ $4, CX
	JLT  rest

tile:
	FIRST4
	NEXT4(1)
	NEXT4(2)
	NEXT4(3)
	JOIN4
	ADDQ $16, DX
	SUBQ $4, CX
	JGE  tile

rest:
	ADDQ $4, CX
	JEQ  done
	FIRST4
	DECQ CX
	JEQ  last
	NEXT4(1)
	DECQ CX
	JEQ  last
	NEXT4(2)

last:
	JOIN4

done:
	VMOVUPS Y4, (DI)
	VMOVUPS Y5, 32(DI)
	VMOVUPS Y6, 64(DI)
	VMOVUPS Y7, 96(DI)
	VBROADCASTSS limit+40(FP), Y10
	VERDICT(void+48(FP))

#define LOAD1(I, P) \
	VBROADCASTSS (4*I)(DX), P  \
	VMASKMOVPS (SI), Y7, Y10   \
	VMULPS Y10, P, P           \
	ADDQ   R8, SI

#define STEP1(I) \
	LOAD1(I, Y1)     \
	EXPONENT(Y0, Y1) \
	ADD(Y0, Y1)

// func reduce8AVX2(acc, panel, taps *float32, k int, stride uintptr, limit float32, mask *int32) (void bool)
TEXT ·reduce8AVX2(SB), NOSPLIT, $0-57
	MOVQ acc+0(FP), DI
	MOVQ panel+8(FP), SI
	MOVQ taps+16(FP), DX
	MOVQ k+24(FP), CX
	MOVQ stride+32(FP), R8
	MOVQ mask+48(FP), AX
	VMOVDQU (AX), Y7
	CONSTANTS
	VXORPS Y4, Y4, Y4
	VXORPS Y8, Y8, Y8
	VXORPS Y9, Y9, Y9
	SUBQ $4, CX
	JLT  rest

tile:
	LOAD1(0, Y0)
	STEP1(1)
	STEP1(2)
	STEP1(3)
	JOIN(Y0, Y4)
	ADDQ $16, DX
	SUBQ $4, CX
	JGE  tile

rest:
	ADDQ $4, CX
	JEQ  done
	LOAD1(0, Y0)
	DECQ CX
	JEQ  last
	STEP1(1)
	DECQ CX
	JEQ  last
	STEP1(2)

last:
	JOIN(Y0, Y4)

done:
	VMASKMOVPS Y4, Y7, (DI)
	VBROADCASTSS limit+40(FP), Y10
	VERDICT(void+56(FP))

// NAN0 turns NaN into +0.
#define NAN0(X) \
	VCMPPS $7, X, X, Y10 \ // ordered
	VANDPS Y10, X, X

#define CLOAD(I, P) \
	LOAD1(I, P) \
	NAN0(P)

// CSTEP is STEP1 for any operands: where the larger exponent is that of infinity
// the plain sum holds.
#define CSTEP(I) \
	CLOAD(I, Y1)             \
	VADDPS Y1, Y0, Y2        \
	EXPONENT(Y0, Y1)         \
	VPCMPEQD Y15, Y12, Y3    \
	ADD(Y0, Y1)              \
	VBLENDVPS Y3, Y2, Y0, Y0 \
	NAN0(Y0)

#define CJOIN \
	VADDPS Y0, Y4, Y4                 \
	NAN0(Y4)                          \
	VANDPS magnitude8<>(SB), Y4, Y10  \
	VCMPPS $13, Y6, Y10, Y11          \ // not below the limit
	VXORPS Y10, Y4, Y12               \ // sign
	VORPS  Y15, Y12, Y12              \
	VBLENDVPS Y11, Y12, Y4, Y4

// func reduceCheckedAVX2(acc, panel, taps *float32, k int, stride uintptr, limit float32, mask *int32)
TEXT ·reduceCheckedAVX2(SB), NOSPLIT, $0-56
	MOVQ acc+0(FP), DI
	MOVQ panel+8(FP), SI
	MOVQ taps+16(FP), DX
	MOVQ k+24(FP), CX
	MOVQ stride+32(FP), R8
	VBROADCASTSS limit+40(FP), Y6
	MOVQ mask+48(FP), AX
	VMOVDQU (AX), Y7
	CONSTANTS
	VXORPS Y4, Y4, Y4
	VXORPS Y9, Y9, Y9
	SUBQ $4, CX
	JLT  rest

tile:
	CLOAD(0, Y0)
	CSTEP(1)
	CSTEP(2)
	CSTEP(3)
	CJOIN
	ADDQ $16, DX
	SUBQ $4, CX
	JGE  tile

rest:
	ADDQ $4, CX
	JEQ  done
	CLOAD(0, Y0)
	DECQ CX
	JEQ  last
	CSTEP(1)
	DECQ CX
	JEQ  last
	CSTEP(2)

last:
	CJOIN

done:
	VMASKMOVPS Y4, Y7, (DI)
	VZEROUPPER
	RET
