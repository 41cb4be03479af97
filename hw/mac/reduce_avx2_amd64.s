//go:build !purego

#include "textflag.h"

// AVX2 cannot round a single operation toward zero, but a conversion to integers
// truncates. With e the larger exponent of the operands, both are scaled by
// 2^(11-e), truncated, added as integers and scaled back, every other operation
// being exact. 2^(11-e) comes from e's exponent field by subtraction; for two
// zeros it is some finite number, which leaves them zero. An infinite or NaN
// operand shows in the largest exponent field seen.

#define EIGHT(NAME, VALUE) \
	DATA NAME<>+0(SB)/4, VALUE  \
	DATA NAME<>+4(SB)/4, VALUE  \
	DATA NAME<>+8(SB)/4, VALUE  \
	DATA NAME<>+12(SB)/4, VALUE \
	DATA NAME<>+16(SB)/4, VALUE \
	DATA NAME<>+20(SB)/4, VALUE \
	DATA NAME<>+24(SB)/4, VALUE \
	DATA NAME<>+28(SB)/4, VALUE \
	GLOBL NAME<>(SB), RODATA|NOPTR, $32

EIGHT(exponents8, $0x7f800000)
EIGHT(magnitude8, $0x7fffffff)
EIGHT(twelve8, $0xfffff000) // sign, exponent, 12 significant bits
EIGHT(eleven8, $0x05800000) // 11 in the exponent field
EIGHT(unscale8, $0x84800000) // 127+11 + 127 in the exponent field, modulo 2^9

#define CONSTANTS \
	VMOVDQU exponents8<>(SB), Y15 \
	VMOVDQU unscale8<>(SB), Y14   \
	VMOVDQU eleven8<>(SB), Y13

// EXPONENT leaves the larger exponent field of S and P in Y12 and keeps the
// largest of all in Y9.
#define EXPONENT(S, P) \
	VPAND   Y15, P, Y11    \
	VPAND   Y15, S, Y12    \
	VPMAXSD Y11, Y12, Y12  \
	VPMAXSD Y12, Y9, Y9

// ADD: S = tile adder of S and P, whose exponent is in Y12.
#define ADD(S, P) \
	VPSUBD  Y12, Y14, Y11  \
	VPSUBD  Y13, Y12, Y12  \
	VMULPS  Y11, S, S      \
	VMULPS  Y11, P, P      \
	VCVTTPS2DQ S, S        \
	VCVTTPS2DQ P, P        \
	VPADDD  P, S, S        \
	VCVTDQ2PS S, S         \
	VMULPS  Y12, S, S

#define FIRST4 \
	VBROADCASTSS (DX), Y10  \
	VMULPS (SI), Y10, Y0    \
	VMULPS 32(SI), Y10, Y1  \
	VMULPS 64(SI), Y10, Y2  \
	VMULPS 96(SI), Y10, Y3  \
	PREFETCHT0 (SI)(R9*1)   \
	PREFETCHT0 64(SI)(R9*1) \
	ADDQ R8, SI

#define NEXT(I, OFF, S) \
	VBROADCASTSS (4*I)(DX), Y10 \
	VMULPS OFF(SI), Y10, Y10    \
	EXPONENT(S, Y10)            \
	ADD(S, Y10)

#define NEXT4(I) \
	NEXT(I, 0, Y0)          \
	NEXT(I, 32, Y1)         \
	NEXT(I, 64, Y2)         \
	NEXT(I, 96, Y3)         \
	PREFETCHT0 (SI)(R9*1)   \
	PREFETCHT0 64(SI)(R9*1) \
	ADDQ R8, SI

#define JOIN(S, ACC) \
	VADDPS S, ACC, ACC                   \
	VPAND  magnitude8<>(SB), ACC, Y10    \
	VPMAXSD Y10, Y8, Y8

#define JOIN4 \
	JOIN(Y0, Y4) \
	JOIN(Y1, Y5) \
	JOIN(Y2, Y6) \
	JOIN(Y3, Y7)

// VERDICT sets the flag when the largest magnitude in Y8 is not below the limit in
// Y10 or the largest exponent in Y9 is that of infinity. A tile of one tap shows no
// exponent, but it leaves its infinity or NaN in the accumulator; compared as
// integers, the magnitude of NaN is the largest of all.
#define VERDICT(FLAG) \
	VCMPPS   $5, Y10, Y8, Y10 \ // not less
	VPCMPEQD Y15, Y9, Y9      \
	VPOR     Y10, Y9, Y9      \
	VPTEST   Y9, Y9           \
	SETNE    FLAG             \
	VZEROUPPER                \
	RET

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

// Where no sum can reach the limit and no operand is infinite, nothing needs to be
// watched.
#define QUIET(I, OFF, S) \
	VBROADCASTSS (4*I)(DX), Y10 \
	VMULPS OFF(SI), Y10, Y10    \
	VPAND   Y15, Y10, Y11       \
	VPAND   Y15, S, Y12         \
	VPMAXSD Y11, Y12, Y12       \
	ADD(S, Y10)

#define QUIET4(I) \
	QUIET(I, 0, Y0)         \
	QUIET(I, 32, Y1)        \
	QUIET(I, 64, Y2)        \
	QUIET(I, 96, Y3)        \
	PREFETCHT0 (SI)(R9*1)   \
	PREFETCHT0 64(SI)(R9*1) \
	ADDQ R8, SI

#define QUIETJOIN4 \
	VADDPS Y0, Y4, Y4 \
	VADDPS Y1, Y5, Y5 \
	VADDPS Y2, Y6, Y6 \
	VADDPS Y3, Y7, Y7

// func reduceBounded32AVX2(acc, panel, taps *float32, k int, stride uintptr)
TEXT ·reduceBounded32AVX2(SB), NOSPLIT, $0-40
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
	QUIET4(1)
	QUIET4(2)
	QUIET4(3)
	QUIETJOIN4
	ADDQ $16, DX
	SUBQ $4, CX
	JGE  tile

rest:
	ADDQ $4, CX
	JEQ  done
	FIRST4
	DECQ CX
	JEQ  last
	QUIET4(1)
	DECQ CX
	JEQ  last
	QUIET4(2)

last:
	QUIETJOIN4

done:
	VMOVUPS Y4, (DI)
	VMOVUPS Y5, 32(DI)
	VMOVUPS Y6, 64(DI)
	VMOVUPS Y7, 96(DI)
	VZEROUPPER
	RET

// func largest32AVX2(panel *float32, k int, stride uintptr) float32
TEXT ·largest32AVX2(SB), NOSPLIT, $0-28
	MOVQ panel+0(FP), SI
	MOVQ k+8(FP), CX
	MOVQ stride+16(FP), R8
	VMOVDQU magnitude8<>(SB), Y15
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1

row:
	VPAND (SI), Y15, Y2
	VPAND 32(SI), Y15, Y3
	VPAND 64(SI), Y15, Y4
	VPAND 96(SI), Y15, Y5
	VPMAXSD Y2, Y0, Y0
	VPMAXSD Y3, Y1, Y1
	VPMAXSD Y4, Y0, Y0
	VPMAXSD Y5, Y1, Y1
	ADDQ R8, SI
	DECQ CX
	JNE  row
	VPMAXSD Y1, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VPMAXSD X1, X0, X0
	VPSHUFD $0x4e, X0, X1
	VPMAXSD X1, X0, X0
	VPSHUFD $0xb1, X0, X1
	VPMAXSD X1, X0, X0
	VMOVSS X0, ret+24(FP)
	VZEROUPPER
	RET

// func tapsAVX2(taps *float32, k int) (sum float32, zeros int)
//
// Takes whole groups of eight.
TEXT ·tapsAVX2(SB), NOSPLIT, $0-32
	MOVQ taps+0(FP), DX
	MOVQ k+8(FP), CX
	VMOVDQU magnitude8<>(SB), Y15
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	SHRQ $3, CX
	JEQ  taken

eight:
	VPAND (DX), Y15, Y3
	VPCMPEQD Y2, Y3, Y4
	VPSUBD Y4, Y1, Y1
	VADDPS Y3, Y0, Y0
	ADDQ $32, DX
	DECQ CX
	JNE  eight

taken:
	VEXTRACTF128 $1, Y0, X3
	VADDPS X3, X0, X0
	VPSHUFD $0x4e, X0, X3
	VADDPS X3, X0, X0
	VPSHUFD $0xb1, X0, X3
	VADDPS X3, X0, X0
	VMOVSS X0, sum+16(FP)
	VEXTRACTI128 $1, Y1, X3
	VPADDD X3, X1, X1
	VPSHUFD $0x4e, X1, X3
	VPADDD X3, X1, X1
	VPSHUFD $0xb1, X1, X3
	VPADDD X3, X1, X1
	VMOVD X1, AX
	MOVQ AX, zeros+24(FP)
	VZEROUPPER
	RET

// LATER4 is FIRST4 for tap I.
#define LATER4(I) \
	VBROADCASTSS (4*I)(DX), Y10 \
	VMULPS (SI), Y10, Y0        \
	VMULPS 32(SI), Y10, Y1      \
	VMULPS 64(SI), Y10, Y2      \
	VMULPS 96(SI), Y10, Y3      \
	ADDQ R8, SI

// CUT4 cuts the tile sums to 12 bits. An infinite one stays so and shows in the
// accumulator, the NaN of 0 times infinity too: its highest fraction bit is set.
#define CUT4 \
	VMOVDQU twelve8<>(SB), Y10 \
	VPAND Y10, Y0, Y0          \
	VPAND Y10, Y1, Y1          \
	VPAND Y10, Y2, Y2          \
	VPAND Y10, Y3, Y3

// ZERO goes to SKIP when tap I is zero.
#define ZERO(I, SKIP) \
	MOVL (4*I)(DX), AX \
	ADDL AX, AX        \
	JEQ  SKIP

// func reduceSparse32AVX2(acc, panel, taps *float32, k int, stride uintptr, limit float32) (void bool)
//
// See reduceSparse64AVX512.
TEXT ·reduceSparse32AVX2(SB), NOSPLIT, $0-49
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
	ZERO(0, none0)
	FIRST4

some1:
	ZERO(1, skip1)
	NEXT4(1)

some2:
	ZERO(2, skip2)
	NEXT4(2)

some3:
	ZERO(3, skip3)
	NEXT4(3)

join:
	JOIN4

next:
	ADDQ $16, DX
	SUBQ $4, CX
	JGE  tile
	JMP  rest

skip1:
	ADDQ R8, SI
	JMP  some2

skip2:
	ADDQ R8, SI
	JMP  some3

skip3:
	ADDQ R8, SI
	CUT4
	JMP  join

none0:
	ADDQ R8, SI
	ZERO(1, none1)
	LATER4(1)
	JMP  some2

none1:
	ADDQ R8, SI
	ZERO(2, none2)
	LATER4(2)
	JMP  some3

none2:
	ADDQ R8, SI
	ZERO(3, none3)
	LATER4(3)
	CUT4
	JMP  join

none3:
	ADDQ R8, SI
	JMP  next

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

// ROW is where tap I of the tile has its row.
#define ROW(I) \
	MOVQ (8*I)(R8), AX  \
	LEAQ (R9)(AX*4), SI

#define FIRSTR4 \
	ROW(0)                  \
	VBROADCASTSS (DX), Y10  \
	VMULPS (SI), Y10, Y0    \
	VMULPS 32(SI), Y10, Y1  \
	VMULPS 64(SI), Y10, Y2  \
	VMULPS 96(SI), Y10, Y3

#define NEXTR4(I) \
	ROW(I)          \
	NEXT(I, 0, Y0)  \
	NEXT(I, 32, Y1) \
	NEXT(I, 64, Y2) \
	NEXT(I, 96, Y3)

// func reduceRows32AVX2(acc, plane *float32, at *int, taps *float32, k int, limit float32) (void bool)
TEXT ·reduceRows32AVX2(SB), NOSPLIT, $0-49
	MOVQ acc+0(FP), DI
	MOVQ plane+8(FP), R9
	MOVQ at+16(FP), R8
	MOVQ taps+24(FP), DX
	MOVQ k+32(FP), CX
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
	FIRSTR4
	NEXTR4(1)
	NEXTR4(2)
	NEXTR4(3)
	JOIN4
	ADDQ $16, DX
	ADDQ $32, R8
	SUBQ $4, CX
	JGE  tile

rest:
	ADDQ $4, CX
	JEQ  done
	FIRSTR4
	DECQ CX
	JEQ  last
	NEXTR4(1)
	DECQ CX
	JEQ  last
	NEXTR4(2)

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

// func reduceCarefulAVX2(acc, panel, taps *float32, k int, stride uintptr, limit float32, mask *int32)
TEXT ·reduceCarefulAVX2(SB), NOSPLIT, $0-56
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
