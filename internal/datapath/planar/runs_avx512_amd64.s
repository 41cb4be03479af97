//go:build !purego

#include "textflag.h"
#include "sixteen_avx512_amd64.h"

// Sixteen runs beside each other, stride bytes apart, each joined in its own order.

// PAIR reads elements of two runs that are eight runs apart.
#define PAIR(LOW, HIGH, BOTH, FIRST) \
	VMOVDQU16.Z LOW, K1, FIRST       \
	VMOVDQU16.Z HIGH, K1, Y16        \
	VINSERTI64X4 $1, Y16, BOTH, BOTH

// BLOCK transposes 16 elements of 16 runs by words of two runs, of four and of eight, and
// leaves element j of each in the lower half of Z8+j and j+8 in the upper one.
#define BLOCK \
	PAIR((SI), (DI), Z0, Y0)                 \
	PAIR((SI)(R8*1), (DI)(R8*1), Z1, Y1)     \
	PAIR((SI)(R8*2), (DI)(R8*2), Z2, Y2)     \
	PAIR((SI)(R9*1), (DI)(R9*1), Z3, Y3)     \
	PAIR((SI)(R8*4), (DI)(R8*4), Z4, Y4)     \
	PAIR((SI)(R10*1), (DI)(R10*1), Z5, Y5)   \
	PAIR((SI)(R9*2), (DI)(R9*2), Z6, Y6)     \
	PAIR((SI)(R11*1), (DI)(R11*1), Z7, Y7)   \
	VPUNPCKLWD Z1, Z0, Z8                    \
	VPUNPCKHWD Z1, Z0, Z9                    \
	VPUNPCKLWD Z3, Z2, Z10                   \
	VPUNPCKHWD Z3, Z2, Z11                   \
	VPUNPCKLWD Z5, Z4, Z12                   \
	VPUNPCKHWD Z5, Z4, Z13                   \
	VPUNPCKLWD Z7, Z6, Z14                   \
	VPUNPCKHWD Z7, Z6, Z15                   \
	VPUNPCKLDQ Z10, Z8, Z0                   \
	VPUNPCKHDQ Z10, Z8, Z1                   \
	VPUNPCKLDQ Z11, Z9, Z2                   \
	VPUNPCKHDQ Z11, Z9, Z3                   \
	VPUNPCKLDQ Z14, Z12, Z4                  \
	VPUNPCKHDQ Z14, Z12, Z5                  \
	VPUNPCKLDQ Z15, Z13, Z6                  \
	VPUNPCKHDQ Z15, Z13, Z7                  \
	VPUNPCKLQDQ Z4, Z0, Z8                   \
	VPUNPCKHQDQ Z4, Z0, Z9                   \
	VPUNPCKLQDQ Z5, Z1, Z10                  \
	VPUNPCKHQDQ Z5, Z1, Z11                  \
	VPUNPCKLQDQ Z6, Z2, Z12                  \
	VPUNPCKHQDQ Z6, Z2, Z13                  \
	VPUNPCKLQDQ Z7, Z3, Z14                  \
	VPUNPCKHQDQ Z7, Z3, Z15                  \
	VSHUFI64X2 $0xd8, Z8, Z8, Z8             \
	VSHUFI64X2 $0xd8, Z9, Z9, Z9             \
	VSHUFI64X2 $0xd8, Z10, Z10, Z10          \
	VSHUFI64X2 $0xd8, Z11, Z11, Z11          \
	VSHUFI64X2 $0xd8, Z12, Z12, Z12          \
	VSHUFI64X2 $0xd8, Z13, Z13, Z13          \
	VSHUFI64X2 $0xd8, Z14, Z14, Z14          \
	VSHUFI64X2 $0xd8, Z15, Z15, Z15

// COLUMNS joins the accumulators in Z20 with the elements of a block, in their order.
#define COLUMNS(JOIN) \
	JOIN(Y8)                   \
	JOIN(Y9)                   \
	JOIN(Y10)                  \
	JOIN(Y11)                  \
	JOIN(Y12)                  \
	JOIN(Y13)                  \
	JOIN(Y14)                  \
	JOIN(Y15)                  \
	VEXTRACTI64X4 $1, Z8, Y0   \
	VEXTRACTI64X4 $1, Z9, Y1   \
	VEXTRACTI64X4 $1, Z10, Y2  \
	VEXTRACTI64X4 $1, Z11, Y3  \
	VEXTRACTI64X4 $1, Z12, Y4  \
	VEXTRACTI64X4 $1, Z13, Y5  \
	VEXTRACTI64X4 $1, Z14, Y6  \
	VEXTRACTI64X4 $1, Z15, Y7  \
	JOIN(Y0)                   \
	JOIN(Y1)                   \
	JOIN(Y2)                   \
	JOIN(Y3)                   \
	JOIN(Y4)                   \
	JOIN(Y5)                   \
	JOIN(Y6)                   \
	JOIN(Y7)

#define ADDED(Y) \
	VCVTPH2PS Y, Z16     \
	VADDPS Z16, Z20, Z20

#define LEAST_OF(Y) \
	VCVTPH2PS Y, Z16                \
	VFIXUPIMMPS $0, Z21, Z16, Z16   \
	VRANGEPS $LEAST, Z16, Z20, Z20

#define LARGEST_OF(Y) \
	VCVTPH2PS Y, Z16                \
	VFIXUPIMMPS $0, Z21, Z16, Z16   \
	VRANGEPS $LARGEST, Z16, Z20, Z20

#define RUNS \
	MOVQ acc+0(FP), BX       \
	MOVQ a+8(FP), SI         \
	MOVQ stride+16(FP), R8   \
	MOVQ n+24(FP), CX        \
	STRIDES                  \
	LEAQ (SI)(R8*8), DI      \
	KXNORW K1, K1, K1        \
	VMOVUPS (BX), Z20

// EXTREMES goes over n elements, at least 16; those that the last block has twice change
// nothing.
#define EXTREMES(JOIN) \
	RUNS                      \
	MOVL $0x55, AX            \
	VPBROADCASTD AX, Z21      \
next:                         \
	BLOCK                     \
	COLUMNS(JOIN)             \
	SUBQ $16, CX              \
	JEQ  done                 \
	MOVQ $32, AX              \
	CMPQ CX, $16              \
	JGE  advance              \
	LEAQ (CX*2), AX           \
	MOVQ $16, CX              \
advance:                      \
	ADDQ AX, SI               \
	ADDQ AX, DI               \
	JMP  next                 \
done:                         \
	VMOVUPS Z20, (BX)         \
	VZEROUPPER                \
	RET

// func sumOfRunsAVX512(acc *[16]float32, a *float16.Float16, stride uintptr, n int)
//
// An element that is no number and a sum that has no value leave a NaN. No sum is -0, as none
// starts there, so that the zeros behind the last elements change nothing.
TEXT ·sumOfRunsAVX512(SB), NOSPLIT, $0-32
	RUNS

next:
	MASK
	BLOCK
	COLUMNS(ADDED)
	ADDQ $32, SI
	ADDQ $32, DI
	SUBQ $16, CX
	JGT  next
	VMOVUPS Z20, (BX)
	VZEROUPPER
	RET

// func minOfRunsAVX512(acc *[16]float32, a *float16.Float16, stride uintptr, n int)
TEXT ·minOfRunsAVX512(SB), NOSPLIT, $0-32
	EXTREMES(LEAST_OF)

// func maxOfRunsAVX512(acc *[16]float32, a *float16.Float16, stride uintptr, n int)
TEXT ·maxOfRunsAVX512(SB), NOSPLIT, $0-32
	EXTREMES(LARGEST_OF)
