//go:build !purego

#include "textflag.h"

// A panel without negative values, as a ReLU leaves it, gives every product the sign
// of its tap, and one step of the tile adder is three operations shorter. In a frame
// that is turned so that the product p is positive, with s the sum in that frame and
// k the power of two of the larger magnitude with the sign of s,
//
//	g = 1.5*2^12*k + p, down          so p loses its bits below 2^(e-11), toward zero
//	h = g + s, toward zero            s likewise: it has the sign of k
//	s = h - 1.5*2^12*k                exact
//
// The frame turns from tap to tap: t, 1 or -1, multiplies s on the way into h and
// its sign bit is turned in k, both within operations that are there anyway.

DATA signexp<>+0(SB)/4, $0xff800000
GLOBL signexp<>(SB), RODATA|NOPTR, $4
DATA lift<>+0(SB)/4, $0x45c00000 // 1.5 * 2^12
GLOBL lift<>(SB), RODATA|NOPTR, $4

#define ABSMAXSIGN 3   // VRANGEPS: the larger magnitude with the sign of the first
#define MAXOFABS 11    // VRANGEPS: the larger magnitude, positive
#define XORAND $0x28   // VPTERNLOGD: (a ^ b) & c

// FIRST leaves the magnitude of the tile's first tap in Z24, its bits in R11.
#define FIRST \
	MOVL (DX), R11            \
	MOVL R11, AX              \
	ANDL $0x7fffffff, AX      \
	MOVL AX, tap-4(SP)        \
	VBROADCASTSS tap-4(SP), Z24

// TURN leaves the magnitude of tap I in Z24, the sign of t in Z27 and t in Z26.
#define TURN(I) \
	MOVL (4*I)(DX), AX           \
	XORL AX, R11                 \
	ANDL $0x80000000, R11        \
	MOVL R11, sign-8(SP)         \
	ORL  $0x3f800000, R11        \
	MOVL R11, turn-12(SP)        \
	MOVL AX, R11                 \
	ANDL $0x7fffffff, AX         \
	MOVL AX, tap-4(SP)           \
	VBROADCASTSS tap-4(SP), Z24  \
	VBROADCASTSS sign-8(SP), Z27 \
	VBROADCASTSS turn-12(SP), Z26

#define PRODUCTS(P0, P1, P2, P3) \
	VMULPS (SI), Z24, P0      \
	VMULPS 64(SI), Z24, P1    \
	VMULPS 128(SI), Z24, P2   \
	VMULPS 192(SI), Z24, P3   \
	PREFETCHT0 (SI)(R9*1)     \
	PREFETCHT0 64(SI)(R9*1)   \
	PREFETCHT0 128(SI)(R9*1)  \
	PREFETCHT0 192(SI)(R9*1)  \
	ADDQ R8, SI

#define STEP(I) \
	TURN(I) \
	PRODUCTS(Z12, Z13, Z14, Z15) \
	VRANGEPS $ABSMAXSIGN, Z12, Z0, Z16 \
	VRANGEPS $ABSMAXSIGN, Z13, Z1, Z17 \
	VRANGEPS $ABSMAXSIGN, Z14, Z2, Z18 \
	VRANGEPS $ABSMAXSIGN, Z15, Z3, Z19 \
	VPTERNLOGD XORAND, Z29, Z27, Z16 \
	VPTERNLOGD XORAND, Z29, Z27, Z17 \
	VPTERNLOGD XORAND, Z29, Z27, Z18 \
	VPTERNLOGD XORAND, Z29, Z27, Z19 \
	VFMADD231PS.RD_SAE Z28, Z16, Z12 \
	VFMADD231PS.RD_SAE Z28, Z17, Z13 \
	VFMADD231PS.RD_SAE Z28, Z18, Z14 \
	VFMADD231PS.RD_SAE Z28, Z19, Z15 \
	VFMADD213PS.RZ_SAE Z12, Z26, Z0 \
	VFMADD213PS.RZ_SAE Z13, Z26, Z1 \
	VFMADD213PS.RZ_SAE Z14, Z26, Z2 \
	VFMADD213PS.RZ_SAE Z15, Z26, Z3 \
	VFNMADD231PS Z28, Z16, Z0 \
	VFNMADD231PS Z28, Z17, Z1 \
	VFNMADD231PS Z28, Z18, Z2 \
	VFNMADD231PS Z28, Z19, Z3

// JOIN turns the frame back: the tile ends in that of its last tap.
#define JOIN \
	ANDL $0x80000000, R11         \
	ORL  $0x3f800000, R11         \
	MOVL R11, turn-12(SP)         \
	VBROADCASTSS turn-12(SP), Z26 \
	VFMADD231PS Z26, Z0, Z4 \
	VFMADD231PS Z26, Z1, Z5 \
	VFMADD231PS Z26, Z2, Z6 \
	VFMADD231PS Z26, Z3, Z7 \
	VRANGEPS $MAXOFABS, Z4, Z8, Z8   \
	VRANGEPS $MAXOFABS, Z5, Z9, Z9   \
	VRANGEPS $MAXOFABS, Z6, Z10, Z10 \
	VRANGEPS $MAXOFABS, Z7, Z11, Z11

// func reduce64UnsignedAVX512(acc, panel, taps *float32, k int, stride uintptr, limit float32) (void bool)
//
// Z0-Z3 tile sums, Z4-Z7 accumulators, Z8-Z11 largest magnitudes of those,
// Z12-Z15 products and g, Z16-Z19 k.
TEXT ·reduce64UnsignedAVX512(SB), NOSPLIT, $16-49
	MOVQ acc+0(FP), DI
	MOVQ panel+8(FP), SI
	MOVQ taps+16(FP), DX
	MOVQ k+24(FP), CX
	MOVQ stride+32(FP), R8
	LEAQ (R8*8), R9
	VPBROADCASTD signexp<>(SB), Z29
	VPBROADCASTD lift<>(SB), Z28
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
	FIRST
	PRODUCTS(Z0, Z1, Z2, Z3)
	STEP(1)
	STEP(2)
	STEP(3)
	JOIN
	ADDQ $16, DX
	SUBQ $4, CX
	JGE  tile

rest:
	ADDQ $4, CX
	JEQ  done
	FIRST
	PRODUCTS(Z0, Z1, Z2, Z3)
	DECQ CX
	JEQ  last
	STEP(1)
	DECQ CX
	JEQ  last
	STEP(2)

last:
	JOIN

done:
	VMOVUPS Z4, (DI)
	VMOVUPS Z5, 64(DI)
	VMOVUPS Z6, 128(DI)
	VMOVUPS Z7, 192(DI)
	VBROADCASTSS limit+40(FP), Z24
	VMAXPS Z8, Z9, Z8
	VMAXPS Z10, Z11, Z10
	VMAXPS Z8, Z10, Z8
	VCMPPS $5, Z24, Z8, K1 // not less
	VCMPPS $3, Z4, Z5, K2  // unordered
	VCMPPS $3, Z6, Z7, K3
	KORW   K1, K2, K1
	KORTESTW K1, K3
	SETNE  void+48(FP)
	VZEROUPPER
	RET

// func isUnsigned64AVX512(panel *float32, k int, stride uintptr) bool
TEXT ·isUnsigned64AVX512(SB), NOSPLIT, $0-25
	MOVQ panel+0(FP), SI
	MOVQ k+8(FP), CX
	MOVQ stride+16(FP), R8

row:
	VMOVUPS (SI), Z0
	VMOVUPS 64(SI), Z1
	VPORD   128(SI), Z0, Z0
	VPORD   192(SI), Z1, Z1
	VPORD   Z0, Z1, Z0
	VPMOVD2M Z0, K1
	KORTESTW K1, K1
	JNE  negative
	ADDQ R8, SI
	DECQ CX
	JNE  row
	MOVB $1, ret+24(FP)
	VZEROUPPER
	RET

negative:
	MOVB $0, ret+24(FP)
	VZEROUPPER
	RET
