//go:build !purego

#include "textflag.h"
#include "reduce_avx512_amd64.h"

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
