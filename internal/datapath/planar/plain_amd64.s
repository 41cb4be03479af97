//go:build !purego

#include "textflag.h"
#include "round_amd64.h"

// A sum is a multiple of 2^-24: no ties among denormals.
#define EXACT
#define ROUND_SUM \
	VPADDD Y5, Y0, Y0 \
	VPAND Y6, Y0, Y0
#define ROUND_PRODUCT \
	ROUND_SUM \
	VMULPS Y7, Y0, Y0

// One loop for four operations: eight fp16 values of each source to float32, a NaN
// to +Inf, ReLU and signs, the operation, a NaN to +0, the bias adder's +0,
// ReLU, and back to fp16 values.
//
// Y5, Y6 and Y7 constants of the rounding, Y10 +0, Y11 +Inf, Y12 and Y13 signs of the sources, Y14 and Y15 ReLU masks
// of source 2 and of the result.
#define LOOP(OP, ROUND) \
	MOVQ dst+0(FP), DI            \
	MOVQ a+8(FP), SI              \
	MOVQ b+16(FP), DX             \
	MOVQ n+24(FP), CX             \
	MOVQ m+32(FP), R8             \
	VXORPS Y10, Y10, Y10          \
	MOVL $0x7f800000, AX          \
	VMOVD AX, X11                 \
	VPBROADCASTD X11, Y11         \
	VBROADCASTSS 0(R8), Y12       \
	VBROADCASTSS 4(R8), Y13       \
	VBROADCASTSS 8(R8), Y14       \
	VBROADCASTSS 12(R8), Y15      \
	ROUND_CONSTANTS(X5, X6, X7, Y5, Y6, Y7) \
	XORQ AX, AX                   \
next:                             \
	PREFETCHT0 2048(SI)(AX*2)     \ // read 128 times later, as memory takes that long
	PREFETCHT0 2048(DX)(AX*2)     \
	PREFETCHT0 2048(DI)(AX*2)     \
	VCVTPH2PS (SI)(AX*2), Y0      \
	VCVTPH2PS (DX)(AX*2), Y1      \
	VCMPPS $3, Y0, Y0, Y2         \
	VCMPPS $3, Y1, Y1, Y3         \
	VBLENDVPS Y2, Y11, Y0, Y0     \
	VBLENDVPS Y3, Y11, Y1, Y1     \
	VPSRAD $31, Y1, Y4            \
	VPAND Y14, Y4, Y4             \
	VPANDN Y1, Y4, Y1             \
	VPXOR Y12, Y0, Y0             \
	VPXOR Y13, Y1, Y1             \
	OP Y1, Y0, Y0                 \
	VCMPPS $7, Y0, Y0, Y2         \
	VANDPS Y2, Y0, Y0             \
	VADDPS Y10, Y0, Y0            \
	VPSRAD $31, Y0, Y4            \
	VPAND Y15, Y4, Y4             \
	VPANDN Y0, Y4, Y0             \
	ROUND                         \
	VCVTPS2PH $0, Y0, (DI)(AX*2)  \
	ADDQ $8, AX                   \
	CMPQ AX, CX                   \
	JLT next                      \
	VZEROUPPER                    \
	RET

// func addAVX2(dst, a, b *float16.Float16, n int, m *masks)
TEXT ·addAVX2(SB), NOSPLIT, $0-40
	LOOP(VADDPS, ROUND_SUM)

// func mulAVX2(dst, a, b *float16.Float16, n int, m *masks)
TEXT ·mulAVX2(SB), NOSPLIT, $0-40
	LOOP(VMULPS, ROUND_PRODUCT)

// func maxAVX2(dst, a, b *float16.Float16, n int, m *masks)
TEXT ·maxAVX2(SB), NOSPLIT, $0-40
	LOOP(VMAXPS, EXACT)

// func minAVX2(dst, a, b *float16.Float16, n int, m *masks)
TEXT ·minAVX2(SB), NOSPLIT, $0-40
	LOOP(VMINPS, EXACT)
