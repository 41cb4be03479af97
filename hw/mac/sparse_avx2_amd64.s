//go:build !purego

#include "textflag.h"
#include "reduce_avx2_amd64.h"

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
