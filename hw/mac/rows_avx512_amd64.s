//go:build !purego

#include "textflag.h"
#include "reduce_avx512_amd64.h"

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
