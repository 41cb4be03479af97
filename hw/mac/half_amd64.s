//go:build !purego

#include "textflag.h"

// func widenF16C(dst *float32, src *float16.Float16, n int)
TEXT ·widenF16C(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	VPCMPEQD Y15, Y15, Y15
	VPSLLD $24, Y15, Y15
	VPSRLD $1, Y15, Y15 // 0x7f800000, infinity

loop:
	PREFETCHT0 2048(SI) // read 128 times later, as memory takes that long
	PREFETCHT0 4096(DI)
	VCVTPH2PS (SI), Y0
	VCMPPS $3, Y0, Y0, Y1 // unordered: NaN
	VBLENDVPS Y1, Y15, Y0, Y0
	VMOVUPS Y0, (DI)
	ADDQ $16, SI
	ADDQ $32, DI
	SUBQ $8, CX
	JNE  loop
	VZEROUPPER
	RET

// func narrowAVX2(dst *float16.Float16, acc *float32, n int, scale, bias, floor float32)
TEXT ·narrowAVX2(SB), NOSPLIT, $0-36
	MOVQ dst+0(FP), DI
	MOVQ acc+8(FP), SI
	MOVQ n+16(FP), CX
	VBROADCASTSS scale+24(FP), Y15
	VBROADCASTSS bias+28(FP), Y14
	VBROADCASTSS floor+32(FP), Y13
	VPCMPEQD Y12, Y12, Y12
	VPSRLD $1, Y12, Y12    // magnitude
	MOVL   $0x1000, AX     // half of the last place that fp16 keeps
	VMOVD  AX, X11
	VPBROADCASTD X11, Y11
	MOVL   $0x47800000, AX // 65536, which becomes infinity
	VMOVD  AX, X10
	VPBROADCASTD X10, Y10
	MOVL   $0x38000000, AX // (127-15)<<23
	VMOVD  AX, X9
	VPBROADCASTD X9, Y9
	MOVL   $0x38800000, AX // 2^-14
	VMOVD  AX, X8
	VPBROADCASTD X8, Y8
	MOVL   $0x4b800000, AX // 2^24
	VMOVD  AX, X7
	VPBROADCASTD X7, Y7
	MOVL   $0x3effffff, AX // largest value below 1/2
	VMOVD  AX, X6
	VPBROADCASTD X6, Y6

loop:
	PREFETCHT0 4096(SI)
	VMULPS (SI), Y15, Y0
	VCMPPS $7, Y0, Y0, Y1 // ordered
	VANDPS Y1, Y0, Y0
	VADDPS Y14, Y0, Y0
	VCMPPS $7, Y0, Y0, Y1
	VANDPS Y1, Y0, Y0
	VMAXPS Y13, Y0, Y0    // of two zeros the floor's +0
	VPAND  Y12, Y0, Y1

	// Normal results: add half of the last place, and cut.
	VPADDD  Y11, Y1, Y2
	VPMINSD Y10, Y2, Y2
	VPSUBD  Y9, Y2, Y2
	VPSRLD  $13, Y2, Y2

	// Denormal results: cut, and add one where the rest is 1/2 or more.
	VMULPS     Y7, Y1, Y3
	VCVTTPS2DQ Y3, Y4
	VCVTDQ2PS  Y4, Y5
	VSUBPS     Y5, Y3, Y3
	VCMPPS     $14, Y6, Y3, Y3 // greater: -1
	VPSUBD     Y3, Y4, Y4

	VPCMPGTD  Y1, Y8, Y5 // denormal
	VPBLENDVB Y5, Y4, Y2, Y2
	VPSRLD $31, Y0, Y0
	VPSLLD $15, Y0, Y0
	VPOR   Y0, Y2, Y2
	VEXTRACTI128 $1, Y2, X3
	VPACKUSDW X3, X2, X2
	VMOVDQU X2, (DI)
	ADDQ $32, SI
	ADDQ $16, DI
	SUBQ $8, CX
	JNE  loop
	VZEROUPPER
	RET
