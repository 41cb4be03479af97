//go:build !purego

#include "textflag.h"
#include "round_amd64.h"

// A sum is a multiple of 2^-24: no ties among denormals.
#define EXACT
#define ROUND_SUM \
	VPADDD Z5, Z0, Z0  \
	VPANDD Z6, Z0, Z0
#define ROUND_PRODUCT \
	ROUND_SUM \
	VMULPS Z7, Z0, Z0

// The loop of the four operations sixteen fp16 values at a time, the last ones masked.
// VFIXUPIMMPS takes a value of one class for another: what its table has in the four
// bits of the value's class, of which classes 0 and 1 are NaN and 2 the zeros.
//
// Z5, Z6 and Z7 constants of the rounding, Z9 a table for NaN and -0 to +0, Z10 one for NaN to +Inf, Z12 and Z13 signs of the
// sources, Z14 and Z15 what source 2 and the result are at least: 0 behind a ReLU, else
// -Inf.
#define LOOP(OP, ROUND) \
	MOVQ dst+0(FP), DI             \
	MOVQ a+8(FP), SI               \
	MOVQ b+16(FP), DX              \
	MOVQ n+24(FP), CX              \
	MOVQ m+32(FP), R8              \
	MOVL $0x888, AX                \
	VPBROADCASTD AX, Z9            \
	MOVL $0x55, AX                 \
	VPBROADCASTD AX, Z10           \
	MOVL $0xff800000, AX           \
	VPBROADCASTD AX, Z11           \
	VPBROADCASTD 0(R8), Z12        \
	VPBROADCASTD 4(R8), Z13        \
	VPBROADCASTD 8(R8), Z14        \
	VPBROADCASTD 12(R8), Z15       \
	VPANDND Z11, Z14, Z14          \
	VPANDND Z11, Z15, Z15          \
	ROUND_CONSTANTS(X5, X6, X7, Z5, Z6, Z7) \
	KXNORW K1, K1, K1              \
next:                              \
	CMPQ CX, $16                   \
	JGE  whole                     \
	MOVL $0xffff, AX               \
	BZHIL CX, AX, AX               \
	KMOVW AX, K1                   \
whole:                             \
	PREFETCHT0 2048(SI)            \ // read 64 times later, as memory takes that long
	PREFETCHT0 2048(DX)            \
	PREFETCHT0 2048(DI)            \
	VCVTPH2PS.Z (SI), K1, Z0       \
	VCVTPH2PS.Z (DX), K1, Z1       \
	VFIXUPIMMPS $0, Z10, Z0, Z0    \
	VFIXUPIMMPS $0, Z10, Z1, Z1    \
	VMAXPS Z14, Z1, Z1             \
	VPXORD Z12, Z0, Z0             \
	VPXORD Z13, Z1, Z1             \
	OP Z1, Z0, Z0                  \
	VFIXUPIMMPS $0, Z9, Z0, Z0     \
	VMAXPS Z15, Z0, Z0             \
	ROUND                          \
	VCVTPS2PH $0, Z0, K1, (DI)     \
	ADDQ $32, SI                   \
	ADDQ $32, DX                   \
	ADDQ $32, DI                   \
	SUBQ $16, CX                   \
	JGT  next                      \
	VZEROUPPER                     \
	RET

// func addAVX512(dst, a, b *float16.Float16, n int, m *masks)
TEXT ·addAVX512(SB), NOSPLIT, $0-40
	LOOP(VADDPS, ROUND_SUM)

// func mulAVX512(dst, a, b *float16.Float16, n int, m *masks)
TEXT ·mulAVX512(SB), NOSPLIT, $0-40
	LOOP(VMULPS, ROUND_PRODUCT)

// func maxAVX512(dst, a, b *float16.Float16, n int, m *masks)
TEXT ·maxAVX512(SB), NOSPLIT, $0-40
	LOOP(VMAXPS, EXACT)

// func minAVX512(dst, a, b *float16.Float16, n int, m *masks)
TEXT ·minAVX512(SB), NOSPLIT, $0-40
	LOOP(VMINPS, EXACT)
