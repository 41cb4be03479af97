//go:build !purego

#include "textflag.h"
#include "reduce_avx2_amd64.h"

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
