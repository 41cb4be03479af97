//go:build !purego

#include "textflag.h"
#include "reduce_avx512_amd64.h"

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

// func countZerosAVX512(taps *float32, k int) int
//
// Counts whole groups of 16.
TEXT ·countZerosAVX512(SB), NOSPLIT, $0-24
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
