//go:build !purego

#include "textflag.h"
#include "reduce_avx2_amd64.h"

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

// func findLargest32AVX2(panel *float32, k int, stride uintptr) float32
TEXT ·findLargest32AVX2(SB), NOSPLIT, $0-28
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

// func sumTapsAVX2(taps *float32, k int) (sum float32, zeros int)
//
// Takes whole groups of eight.
TEXT ·sumTapsAVX2(SB), NOSPLIT, $0-32
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
