//go:build !purego

#include "textflag.h"

// One step of the tile adder, without exponent arithmetic. With m the operand of
// larger magnitude, n the other, and c = 2^e with the sign of n,
//
//	g = 1.5*2^12*c + cut(m)     exact: its unit in the last place is 2^(e-11)
//	h = g + n, toward zero      so n loses its bits below 2^(e-11), toward zero
//	s = h - 1.5*2^12*c          exact
//
// gives cut(m) + cut(n). 1.5 keeps g and h in one binade whatever the sign of m.
// An infinite m makes g or s NaN, which every later step and join keeps.

DATA signs<>+0(SB)/4, $0x80000000
GLOBL signs<>(SB), RODATA|NOPTR, $4
DATA exponents<>+0(SB)/4, $0x7f800000
GLOBL exponents<>(SB), RODATA|NOPTR, $4
DATA twelve<>+0(SB)/4, $0xfffff000 // sign, exponent, 12 significant bits
GLOBL twelve<>(SB), RODATA|NOPTR, $4
DATA lift<>+0(SB)/4, $0x45c00000 // 1.5 * 2^12
GLOBL lift<>(SB), RODATA|NOPTR, $4

#define CONSTANTS \
	VPBROADCASTD signs<>(SB), Z31     \
	VPBROADCASTD exponents<>(SB), Z30 \
	VPBROADCASTD twelve<>(SB), Z29    \
	VPBROADCASTD lift<>(SB), Z28

#define ABSMAX 7       // VRANGEPS: the operand of larger magnitude, with its sign
#define MAXOFABS 11    // VRANGEPS: the larger magnitude, positive
#define XOR3 $0x96     // VPTERNLOGD: a ^ b ^ c
#define ORAND $0xf8    // VPTERNLOGD: a | b&c

// ADD: S = tile adder of S and P, by way of M and C.
#define ADD(S, P, M, C) \
	VRANGEPS    $ABSMAX, P, S, M \
	VPTERNLOGD  XOR3, M, P, S    \ // S = n
	VPANDD      Z30, M, C        \
	VPTERNLOGD  ORAND, Z31, S, C \
	VPANDD      Z29, M, M        \
	VFMADD231PS Z28, C, M        \
	VADDPS.RZ_SAE S, M, S        \
	VFNMADD231PS Z28, C, S

#define ADD4 \
	VRANGEPS    $ABSMAX, Z12, Z0, Z16 \
	VRANGEPS    $ABSMAX, Z13, Z1, Z17 \
	VRANGEPS    $ABSMAX, Z14, Z2, Z18 \
	VRANGEPS    $ABSMAX, Z15, Z3, Z19 \
	VPTERNLOGD  XOR3, Z16, Z12, Z0    \
	VPTERNLOGD  XOR3, Z17, Z13, Z1    \
	VPTERNLOGD  XOR3, Z18, Z14, Z2    \
	VPTERNLOGD  XOR3, Z19, Z15, Z3    \
	VPANDD      Z30, Z16, Z20         \
	VPANDD      Z30, Z17, Z21         \
	VPANDD      Z30, Z18, Z22         \
	VPANDD      Z30, Z19, Z23         \
	VPANDD      Z29, Z16, Z16         \
	VPANDD      Z29, Z17, Z17         \
	VPANDD      Z29, Z18, Z18         \
	VPANDD      Z29, Z19, Z19         \
	VPTERNLOGD  ORAND, Z31, Z0, Z20   \
	VPTERNLOGD  ORAND, Z31, Z1, Z21   \
	VPTERNLOGD  ORAND, Z31, Z2, Z22   \
	VPTERNLOGD  ORAND, Z31, Z3, Z23   \
	VFMADD231PS Z28, Z20, Z16         \
	VFMADD231PS Z28, Z21, Z17         \
	VFMADD231PS Z28, Z22, Z18         \
	VFMADD231PS Z28, Z23, Z19         \
	VADDPS.RZ_SAE Z0, Z16, Z0         \
	VADDPS.RZ_SAE Z1, Z17, Z1         \
	VADDPS.RZ_SAE Z2, Z18, Z2         \
	VADDPS.RZ_SAE Z3, Z19, Z3         \
	VFNMADD231PS Z28, Z20, Z0         \
	VFNMADD231PS Z28, Z21, Z1         \
	VFNMADD231PS Z28, Z22, Z2         \
	VFNMADD231PS Z28, Z23, Z3

// LOAD4 takes the products of tap I of the tile and moves to the next row.
#define LOAD4(I, P0, P1, P2, P3) \
	VBROADCASTSS (4*I)(DX), Z24 \
	VMULPS (SI), Z24, P0        \
	VMULPS 64(SI), Z24, P1      \
	VMULPS 128(SI), Z24, P2     \
	VMULPS 192(SI), Z24, P3     \
	PREFETCHT0 (SI)(R9*1) \
	PREFETCHT0 64(SI)(R9*1) \
	PREFETCHT0 128(SI)(R9*1) \
	PREFETCHT0 192(SI)(R9*1) \
	ADDQ   R8, SI

#define JOIN4 \
	VADDPS   Z0, Z4, Z4            \
	VADDPS   Z1, Z5, Z5            \
	VADDPS   Z2, Z6, Z6            \
	VADDPS   Z3, Z7, Z7            \
	VRANGEPS $MAXOFABS, Z4, Z8, Z8   \
	VRANGEPS $MAXOFABS, Z5, Z9, Z9   \
	VRANGEPS $MAXOFABS, Z6, Z10, Z10 \
	VRANGEPS $MAXOFABS, Z7, Z11, Z11

// VERDICT sets the flag when a magnitude is not below the limit in Z24 or an
// accumulator is NaN. VRANGEPS passes over NaN, so the accumulators themselves
// have to tell.
#define VERDICT(FLAG) \
	VMAXPS Z8, Z9, Z8      \
	VMAXPS Z10, Z11, Z10   \
	VMAXPS Z8, Z10, Z8     \
	VCMPPS $5, Z24, Z8, K1 \ // not less
	VCMPPS $3, Z4, Z5, K2  \ // unordered
	VCMPPS $3, Z6, Z7, K3  \
	KORW   K1, K2, K1      \
	KORTESTW K1, K3        \
	SETNE  FLAG            \
	VZEROUPPER             \
	RET

// func reduce64AVX512(acc, panel, taps *float32, k int, stride uintptr, limit float32) (void bool)
//
// Z0-Z3 tile sums, Z4-Z7 accumulators, Z8-Z11 largest magnitudes of those,
// Z12-Z15 products, Z16-Z23 the adder's m and c.
TEXT ·reduce64AVX512(SB), NOSPLIT, $0-49
	MOVQ acc+0(FP), DI
	MOVQ panel+8(FP), SI
	MOVQ taps+16(FP), DX
	MOVQ k+24(FP), CX
	MOVQ stride+32(FP), R8
	LEAQ (R8*8), R9
	CONSTANTS
	VPXORD Z4, Z4, Z4
	VPXORD Z5, Z5, Z5
	VPXORD Z6, Z6, Z6
	VPXORD Z7, Z7, Z7
	VPXORD Z8, Z8, Z8
	VPXORD Z9, Z9, Z9
	VPXORD Z10, Z10, Z10
	VPXORD Z11, Z11, Z11
	SUBQ $4, CX
	JLT  rest

tile:
	LOAD4(0, Z0, Z1, Z2, Z3)
	LOAD4(1, Z12, Z13, Z14, Z15)
	ADD4
	LOAD4(2, Z12, Z13, Z14, Z15)
	ADD4
	LOAD4(3, Z12, Z13, Z14, Z15)
	ADD4
	JOIN4
	ADDQ $16, DX
	SUBQ $4, CX
	JGE  tile

rest:
	ADDQ $4, CX
	JEQ  done
	LOAD4(0, Z0, Z1, Z2, Z3)
	DECQ CX
	JEQ  last
	LOAD4(1, Z12, Z13, Z14, Z15)
	ADD4
	DECQ CX
	JEQ  last
	LOAD4(2, Z12, Z13, Z14, Z15)
	ADD4

last:
	JOIN4

done:
	VMOVUPS Z4, (DI)
	VMOVUPS Z5, 64(DI)
	VMOVUPS Z6, 128(DI)
	VMOVUPS Z7, 192(DI)
	VBROADCASTSS limit+40(FP), Z24
	VERDICT(void+48(FP))

// CUT cuts the tile sums to 12 bits.
#define CUT4 \
	VPANDD Z29, Z0, Z0 \
	VPANDD Z29, Z1, Z1 \
	VPANDD Z29, Z2, Z2 \
	VPANDD Z29, Z3, Z3

// ZERO goes to SKIP when tap I is zero.
#define ZERO(I, SKIP) \
	MOVL (4*I)(DX), AX \
	ADDL AX, AX        \
	JEQ  SKIP

// func reduceSparse64AVX512(acc, panel, taps *float32, k int, stride uintptr, limit float32) (void bool)
//
// A zero tap between others does nothing: the next step cuts the sum at least as
// far. After the last other tap of a tile it cuts the sum to 12 bits, and a product
// alone among zeros is cut so too. Which way a tile goes hangs on the taps alone, so
// that a wrong guess of a branch is put right while the steps before it still run.
TEXT ·reduceSparse64AVX512(SB), NOSPLIT, $0-49
	MOVQ acc+0(FP), DI
	MOVQ panel+8(FP), SI
	MOVQ taps+16(FP), DX
	MOVQ k+24(FP), CX
	MOVQ stride+32(FP), R8
	LEAQ (R8*8), R9
	CONSTANTS
	VPXORD Z4, Z4, Z4
	VPXORD Z5, Z5, Z5
	VPXORD Z6, Z6, Z6
	VPXORD Z7, Z7, Z7
	VPXORD Z8, Z8, Z8
	VPXORD Z9, Z9, Z9
	VPXORD Z10, Z10, Z10
	VPXORD Z11, Z11, Z11
	SUBQ $4, CX
	JLT  rest

tile:
	ZERO(0, none0)
	LOAD4(0, Z0, Z1, Z2, Z3)

some1:
	ZERO(1, skip1)
	LOAD4(1, Z12, Z13, Z14, Z15)
	ADD4

some2:
	ZERO(2, skip2)
	LOAD4(2, Z12, Z13, Z14, Z15)
	ADD4

some3:
	ZERO(3, skip3)
	LOAD4(3, Z12, Z13, Z14, Z15)
	ADD4

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
	LOAD4(1, Z0, Z1, Z2, Z3)
	JMP  some2

none1:
	ADDQ R8, SI
	ZERO(2, none2)
	LOAD4(2, Z0, Z1, Z2, Z3)
	JMP  some3

none2:
	ADDQ R8, SI
	ZERO(3, none3)
	LOAD4(3, Z0, Z1, Z2, Z3)
	CUT4
	JMP  join

none3:
	ADDQ R8, SI
	JMP  next

rest:
	ADDQ $4, CX
	JEQ  done
	LOAD4(0, Z0, Z1, Z2, Z3)
	DECQ CX
	JEQ  last
	LOAD4(1, Z12, Z13, Z14, Z15)
	ADD4
	DECQ CX
	JEQ  last
	LOAD4(2, Z12, Z13, Z14, Z15)
	ADD4

last:
	JOIN4

done:
	VMOVUPS Z4, (DI)
	VMOVUPS Z5, 64(DI)
	VMOVUPS Z6, 128(DI)
	VMOVUPS Z7, 192(DI)
	VBROADCASTSS limit+40(FP), Z24
	VERDICT(void+48(FP))

// func zerosAVX512(taps *float32, k int) int
//
// Counts whole groups of 16.
TEXT ·zerosAVX512(SB), NOSPLIT, $0-24
	MOVQ taps+0(FP), DX
	MOVQ k+8(FP), CX
	XORQ AX, AX
	SHRQ $4, CX
	JEQ  counted

sixteen:
	VMOVUPS (DX), Z0
	VPADDD  Z0, Z0, Z0
	VPTESTNMD Z0, Z0, K1
	KMOVW   K1, BX
	POPCNTL BX, BX
	ADDQ    BX, AX
	ADDQ    $64, DX
	DECQ    CX
	JNE     sixteen
	VZEROUPPER

counted:
	MOVQ AX, ret+16(FP)
	RET

// LOADR4 takes the products of tap I of the tile with a row that starts at its own
// offset.
#define LOADR4(I, P0, P1, P2, P3) \
	MOVQ (8*I)(R8), AX          \
	LEAQ (SI)(AX*4), AX         \
	VBROADCASTSS (4*I)(DX), Z24 \
	VMULPS (AX), Z24, P0        \
	VMULPS 64(AX), Z24, P1      \
	VMULPS 128(AX), Z24, P2     \
	VMULPS 192(AX), Z24, P3

// func reduceRows64AVX512(acc, plane *float32, at *int, taps *float32, k int, limit float32) (void bool)
TEXT ·reduceRows64AVX512(SB), NOSPLIT, $0-49
	MOVQ acc+0(FP), DI
	MOVQ plane+8(FP), SI
	MOVQ at+16(FP), R8
	MOVQ taps+24(FP), DX
	MOVQ k+32(FP), CX
	CONSTANTS
	VPXORD Z4, Z4, Z4
	VPXORD Z5, Z5, Z5
	VPXORD Z6, Z6, Z6
	VPXORD Z7, Z7, Z7
	VPXORD Z8, Z8, Z8
	VPXORD Z9, Z9, Z9
	VPXORD Z10, Z10, Z10
	VPXORD Z11, Z11, Z11
	SUBQ $4, CX
	JLT  rest

tile:
	LOADR4(0, Z0, Z1, Z2, Z3)
	LOADR4(1, Z12, Z13, Z14, Z15)
	ADD4
	LOADR4(2, Z12, Z13, Z14, Z15)
	ADD4
	LOADR4(3, Z12, Z13, Z14, Z15)
	ADD4
	JOIN4
	ADDQ $16, DX
	ADDQ $32, R8
	SUBQ $4, CX
	JGE  tile

rest:
	ADDQ $4, CX
	JEQ  done
	LOADR4(0, Z0, Z1, Z2, Z3)
	DECQ CX
	JEQ  last
	LOADR4(1, Z12, Z13, Z14, Z15)
	ADD4
	DECQ CX
	JEQ  last
	LOADR4(2, Z12, Z13, Z14, Z15)
	ADD4

last:
	JOIN4

done:
	VMOVUPS Z4, (DI)
	VMOVUPS Z5, 64(DI)
	VMOVUPS Z6, 128(DI)
	VMOVUPS Z7, 192(DI)
	VBROADCASTSS limit+40(FP), Z24
	VERDICT(void+48(FP))

// LOADX4 takes the products of tap I of four tap vectors with one row.
#define LOADX4(I, P0, P1, P2, P3) \
	VMOVUPS.Z (SI), K1, Z24             \
	VMULPS.BCST (4*I)(DX), Z24, P0      \
	VMULPS.BCST (4*I)(DX)(R9*1), Z24, P1 \
	VMULPS.BCST (4*I)(DX)(R9*2), Z24, P2 \
	VMULPS.BCST (4*I)(R10), Z24, P3     \
	ADDQ   R8, SI

// func reduce16x4AVX512(acc, panel, taps *float32, k int, stride uintptr, limit float32, mask uint64) (void bool)
TEXT ·reduce16x4AVX512(SB), NOSPLIT, $0-57
	MOVQ acc+0(FP), DI
	MOVQ panel+8(FP), SI
	MOVQ taps+16(FP), DX
	MOVQ k+24(FP), CX
	MOVQ stride+32(FP), R8
	KMOVQ mask+48(FP), K1
	LEAQ (CX*4), R9       // from one tap vector to the next
	LEAQ (R9)(R9*2), R10
	ADDQ DX, R10          // the fourth
	CONSTANTS
	VPXORD Z4, Z4, Z4
	VPXORD Z5, Z5, Z5
	VPXORD Z6, Z6, Z6
	VPXORD Z7, Z7, Z7
	VPXORD Z8, Z8, Z8
	VPXORD Z9, Z9, Z9
	VPXORD Z10, Z10, Z10
	VPXORD Z11, Z11, Z11
	SUBQ $4, CX
	JLT  rest

tile:
	LOADX4(0, Z0, Z1, Z2, Z3)
	LOADX4(1, Z12, Z13, Z14, Z15)
	ADD4
	LOADX4(2, Z12, Z13, Z14, Z15)
	ADD4
	LOADX4(3, Z12, Z13, Z14, Z15)
	ADD4
	JOIN4
	ADDQ $16, DX
	ADDQ $16, R10
	SUBQ $4, CX
	JGE  tile

rest:
	ADDQ $4, CX
	JEQ  done
	LOADX4(0, Z0, Z1, Z2, Z3)
	DECQ CX
	JEQ  last
	LOADX4(1, Z12, Z13, Z14, Z15)
	ADD4
	DECQ CX
	JEQ  last
	LOADX4(2, Z12, Z13, Z14, Z15)
	ADD4

last:
	JOIN4

done:
	VMOVUPS Z4, K1, (DI)
	VMOVUPS Z5, K1, (DI)(R8*1)
	VMOVUPS Z6, K1, (DI)(R8*2)
	ADDQ R8, DI
	VMOVUPS Z7, K1, (DI)(R8*2)
	VBROADCASTSS limit+40(FP), Z24
	VERDICT(void+56(FP))

#define LOAD1(I, P) \
	VBROADCASTSS (4*I)(DX), Z24 \
	VMULPS.Z (SI), Z24, K1, P   \
	ADDQ   R8, SI

#define JOIN1 \
	VADDPS   Z0, Z4, Z4 \
	VRANGEPS $MAXOFABS, Z4, Z8, Z8

// func reduce16AVX512(acc, panel, taps *float32, k int, stride uintptr, limit float32, mask uint64) (void bool)
TEXT ·reduce16AVX512(SB), NOSPLIT, $0-57
	MOVQ acc+0(FP), DI
	MOVQ panel+8(FP), SI
	MOVQ taps+16(FP), DX
	MOVQ k+24(FP), CX
	MOVQ stride+32(FP), R8
	KMOVQ mask+48(FP), K1
	CONSTANTS
	VPXORD Z4, Z4, Z4
	VPXORD Z8, Z8, Z8
	SUBQ $4, CX
	JLT  rest

tile:
	LOAD1(0, Z0)
	LOAD1(1, Z12)
	LOAD1(2, Z13)
	LOAD1(3, Z14)
	ADD(Z0, Z12, Z16, Z20)
	ADD(Z0, Z13, Z16, Z20)
	ADD(Z0, Z14, Z16, Z20)
	JOIN1
	ADDQ $16, DX
	SUBQ $4, CX
	JGE  tile

rest:
	ADDQ $4, CX
	JEQ  done
	LOAD1(0, Z0)
	DECQ CX
	JEQ  last
	LOAD1(1, Z12)
	ADD(Z0, Z12, Z16, Z20)
	DECQ CX
	JEQ  last
	LOAD1(2, Z12)
	ADD(Z0, Z12, Z16, Z20)

last:
	JOIN1

done:
	VMOVUPS Z4, K1, (DI)
	VBROADCASTSS limit+40(FP), Z24
	VCMPPS $5, Z24, Z8, K2
	VCMPPS $3, Z4, Z4, K3
	KORTESTW K2, K3
	SETNE void+56(FP)
	VZEROUPPER
	RET

// NAN0 turns NaN into +0.
#define NAN0(X) \
	VCMPPS $7, X, X, K2 \ // ordered
	VMOVAPS.Z X, K2, X

// CADD is ADD for any operands: where m is infinite the plain sum holds.
#define CADD(S, P, M, C, Q) \
	VADDPS      P, S, Q          \
	VRANGEPS    $ABSMAX, P, S, M \
	VPTERNLOGD  XOR3, M, P, S    \
	VPANDD      Z30, M, C        \
	VPCMPEQD    Z30, C, K3       \
	VPTERNLOGD  ORAND, Z31, S, C \
	VPANDD      Z29, M, M        \
	VFMADD231PS Z28, C, M        \
	VADDPS.RZ_SAE S, M, S        \
	VFNMADD231PS Z28, C, S       \
	VMOVAPS     Q, K3, S         \
	NAN0(S)

#define CLOAD(I, P) \
	LOAD1(I, P) \
	NAN0(P)

#define CJOIN \
	VADDPS  Z0, Z4, Z4          \
	NAN0(Z4)                    \
	VPANDND Z4, Z31, Z8         \ // magnitude
	VCMPPS  $13, Z25, Z8, K3    \ // not less than the limit
	VPTERNLOGD ORAND, Z31, Z4, Z9 \ // infinity with the sign of the sum
	VMOVAPS Z9, K3, Z4          \
	VMOVAPS Z30, Z9

// func reduceCarefulAVX512(acc, panel, taps *float32, k int, stride uintptr, limit float32, mask uint64)
TEXT ·reduceCarefulAVX512(SB), NOSPLIT, $0-56
	MOVQ acc+0(FP), DI
	MOVQ panel+8(FP), SI
	MOVQ taps+16(FP), DX
	MOVQ k+24(FP), CX
	MOVQ stride+32(FP), R8
	KMOVQ mask+48(FP), K1
	VBROADCASTSS limit+40(FP), Z25
	CONSTANTS
	VPXORD Z4, Z4, Z4
	VMOVAPS Z30, Z9 // infinity
	SUBQ $4, CX
	JLT  rest

tile:
	CLOAD(0, Z0)
	CLOAD(1, Z12)
	CADD(Z0, Z12, Z16, Z20, Z17)
	CLOAD(2, Z12)
	CADD(Z0, Z12, Z16, Z20, Z17)
	CLOAD(3, Z12)
	CADD(Z0, Z12, Z16, Z20, Z17)
	CJOIN
	ADDQ $16, DX
	SUBQ $4, CX
	JGE  tile

rest:
	ADDQ $4, CX
	JEQ  done
	CLOAD(0, Z0)
	DECQ CX
	JEQ  last
	CLOAD(1, Z12)
	CADD(Z0, Z12, Z16, Z20, Z17)
	DECQ CX
	JEQ  last
	CLOAD(2, Z12)
	CADD(Z0, Z12, Z16, Z20, Z17)

last:
	CJOIN

done:
	VMOVUPS Z4, K1, (DI)
	VZEROUPPER
	RET
