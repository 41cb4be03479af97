//go:build !purego

#include "textflag.h"
#include "reduce_amd64.h"

// Kernels of the reduction. Sums are integers in units of 2^-16. Y0 to Y7 hold the sums of a block:
// four vectors of taps times two registers of lanes, or one vector times eight registers. In the forms
// fused and masked they are fp32 numbers near 1.5 * 2^23, whose low bits are the sums of some taps;
// in the form converted they are integers.

DATA bias<>+0(SB)/4, $0x4b400000 // 1.5 * 2^23
GLOBL bias<>(SB), RODATA|NOPTR, $4

#define EIGHT(NAME, WORD) \
	DATA NAME+0(SB)/8, $WORD   \
	DATA NAME+8(SB)/8, $WORD   \
	DATA NAME+16(SB)/8, $WORD  \
	DATA NAME+24(SB)/8, $WORD  \
	GLOBL NAME(SB), RODATA|NOPTR, $32

EIGHT(magnitudes<>, 0x7fffffff7fffffff)
EIGHT(signs<>, 0x8000000080000000)
EIGHT(denormals<>, 0x3880000038800000) // 2^-14, as which denormal weights count
EIGHT(halves<>, 0x3f0000003f000000)    // 1/2
EIGHT(places<>, 0xffffe000ffffe000)    // what a weight has of its scaled value
EIGHT(exact<>, 0x00ffffff00ffffff)     // largest magnitude that fp32 holds exactly
EIGHT(sticky<>, 0x0000010000000100)
EIGHT(lost<>, 0x000000ff000000ff)
EIGHT(units<>, 0x3780000037800000)     // 2^-16
EIGHT(outward<>, 0x4780000147800001)   // 2^16 * (1 + 2^-23)
EIGHT(fields<>, 0x7f8000007f800000)
EIGHT(limits<>, 0x76ffffff76ffffff)    // (2*127-16)<<23 - 1

#define SET(Y) \
	VMOVAPS Y, Y0 \
	VMOVAPS Y, Y1 \
	VMOVAPS Y, Y2 \
	VMOVAPS Y, Y3 \
	VMOVAPS Y, Y4 \
	VMOVAPS Y, Y5 \
	VMOVAPS Y, Y6 \
	VMOVAPS Y, Y7

// FLUSH adds two registers of sums, less what they started with in Y15, to the integers at OFF of the
// block's pointers.
#define FLUSH(OFF, A, B) \
	MOVQ    OFF(DI), AX       \
	VPSUBD  Y15, A, A         \
	VPSUBD  Y15, B, B         \
	VPADDD  (AX), A, A        \
	VPADDD  32(AX), B, B      \
	VMOVDQU A, (AX)           \
	VMOVDQU B, 32(AX)

#define FLUSH4 \
	FLUSH(0, Y0, Y1)  \
	FLUSH(8, Y2, Y3)  \
	FLUSH(16, Y4, Y5) \
	FLUSH(24, Y6, Y7)

#define FUSED(R, A, B) \
	VBROADCASTSS (R)(R13*8), Y12 \
	VFMADD231PS  Y8, Y12, A      \
	VFMADD231PS  Y9, Y12, B

// func addFusedAVX2(b *block)
TEXT ·addFusedAVX2(SB), NOSPLIT, $0-8
	BLOCK
	VBROADCASTSS bias<>(SB), Y15

chunk:
	CHUNK
	SET(Y15)

loop:
	VMOVUPS (SI), Y8
	VMOVUPS 32(SI), Y9
	FUSED(R8, Y0, Y1)
	FUSED(R9, Y2, Y3)
	FUSED(R10, Y4, Y5)
	FUSED(R11, Y6, Y7)
	ADDQ DX, SI
	INCQ R13
	DECQ R12
	JNE  loop
	FLUSH4
	TESTQ CX, CX
	JNE   chunk
	VZEROUPPER
	RET

// OPERANDS loads two registers of operands to Y8 and Y9, and their magnitudes to Y10 and Y11.
#define OPERANDS \
	VMOVUPS (SI), Y8                   \
	VMOVUPS 32(SI), Y9                 \
	VPAND   magnitudes<>(SB), Y8, Y10  \
	VPAND   magnitudes<>(SB), Y9, Y11

#define MASKED(R, A, B) \
	VBROADCASTSS (R)(R13*8), Y12   \
	VPBROADCASTD 4(R)(R13*8), Y13  \
	VPCMPGTD     Y13, Y10, Y14     \
	VPCMPGTD     Y13, Y11, Y13     \
	VPAND        Y8, Y14, Y14      \
	VPAND        Y9, Y13, Y13      \
	VFMADD231PS  Y14, Y12, A       \
	VFMADD231PS  Y13, Y12, B

// func addMaskedAVX2(b *block)
TEXT ·addMaskedAVX2(SB), NOSPLIT, $0-8
	BLOCK
	VBROADCASTSS bias<>(SB), Y15

chunk:
	CHUNK
	SET(Y15)

loop:
	OPERANDS
	MASKED(R8, Y0, Y1)
	MASKED(R9, Y2, Y3)
	MASKED(R10, Y4, Y5)
	MASKED(R11, Y6, Y7)
	ADDQ DX, SI
	INCQ R13
	DECQ R12
	JNE  loop
	FLUSH4
	TESTQ CX, CX
	JNE   chunk
	VZEROUPPER
	RET

// PRODUCT adds the products of X, where they are not dropped, and the plain weights in Y12 to S,
// rounded to integers: half a unit is added to the magnitude, and the rest cut.
#define PRODUCT(X, M, S) \
	VPCMPGTD   Y13, M, Y14            \
	VPAND      X, Y14, Y14            \
	VMULPS     Y12, Y14, Y14          \
	VPAND      signs<>(SB), Y14, Y15  \
	VPOR       halves<>(SB), Y15, Y15 \
	VADDPS     Y15, Y14, Y14          \
	VCVTTPS2DQ Y14, Y14               \
	VPADDD     Y14, S, S

#define CONVERTED(R, A, B) \
	VBROADCASTSS (R)(R13*8), Y12       \
	VPAND        places<>(SB), Y12, Y12 \
	VPBROADCASTD 4(R)(R13*8), Y13      \
	PRODUCT(Y8, Y10, A)                \
	PRODUCT(Y9, Y11, B)

// func addConvertedAVX2(b *block)
TEXT ·addConvertedAVX2(SB), NOSPLIT, $0-8
	BLOCK
	VXORPS Y15, Y15, Y15
	SET(Y15)

loop:
	OPERANDS
	CONVERTED(R8, Y0, Y1)
	CONVERTED(R9, Y2, Y3)
	CONVERTED(R10, Y4, Y5)
	CONVERTED(R11, Y6, Y7)
	ADDQ DX, SI
	INCQ R13
	DECQ CX
	JNE  loop
	VXORPS Y15, Y15, Y15
	FLUSH4
	VZEROUPPER
	RET

#define FLUSHROW(OFF, A) \
	VPSUBD  Y15, A, A       \
	VPADDD  OFF(DI), A, A   \
	VMOVDQU A, OFF(DI)

#define FLUSHROWS \
	FLUSHROW(0, Y0)   \
	FLUSHROW(32, Y1)  \
	FLUSHROW(64, Y2)  \
	FLUSHROW(96, Y3)  \
	FLUSHROW(128, Y4) \
	FLUSHROW(160, Y5) \
	FLUSHROW(192, Y6) \
	FLUSHROW(224, Y7)

// func addRowsFusedAVX2(b *rowBlock)
TEXT ·addRowsFusedAVX2(SB), NOSPLIT, $0-8
	ROWS
	VBROADCASTSS bias<>(SB), Y15

chunk:
	CHUNK
	SET(Y15)

loop:
	ROW
	VBROADCASTSS (R8)(R13*8), Y12
	VFMADD231PS (AX), Y12, Y0
	VFMADD231PS 32(AX), Y12, Y1
	VFMADD231PS 64(AX), Y12, Y2
	VFMADD231PS 96(AX), Y12, Y3
	VFMADD231PS 128(AX), Y12, Y4
	VFMADD231PS 160(AX), Y12, Y5
	VFMADD231PS 192(AX), Y12, Y6
	VFMADD231PS 224(AX), Y12, Y7
	INCQ R13
	DECQ R12
	JNE  loop
	FLUSHROWS
	TESTQ CX, CX
	JNE   chunk
	VZEROUPPER
	RET

#define MASKEDROW(OFF, S) \
	VMOVUPS     OFF(AX), Y8                \
	VPAND       Y11, Y8, Y10               \
	VPCMPGTD    Y13, Y10, Y10              \
	VPAND       Y8, Y10, Y10               \
	VFMADD231PS Y10, Y12, S

// func addRowsMaskedAVX2(b *rowBlock)
TEXT ·addRowsMaskedAVX2(SB), NOSPLIT, $0-8
	ROWS
	VBROADCASTSS bias<>(SB), Y15
	VMOVDQU magnitudes<>(SB), Y11

chunk:
	CHUNK
	SET(Y15)

loop:
	ROW
	VBROADCASTSS (R8)(R13*8), Y12
	VPBROADCASTD 4(R8)(R13*8), Y13
	MASKEDROW(0, Y0)
	MASKEDROW(32, Y1)
	MASKEDROW(64, Y2)
	MASKEDROW(96, Y3)
	MASKEDROW(128, Y4)
	MASKEDROW(160, Y5)
	MASKEDROW(192, Y6)
	MASKEDROW(224, Y7)
	INCQ R13
	DECQ R12
	JNE  loop
	FLUSHROWS
	TESTQ CX, CX
	JNE   chunk
	VZEROUPPER
	RET

#define CONVERTEDROW(OFF, S) \
	VMOVUPS OFF(AX), Y8                \
	VPAND   Y11, Y8, Y10               \
	PRODUCT(Y8, Y10, S)

// func addRowsConvertedAVX2(b *rowBlock)
TEXT ·addRowsConvertedAVX2(SB), NOSPLIT, $0-8
	ROWS
	VMOVDQU magnitudes<>(SB), Y11
	VXORPS Y15, Y15, Y15
	SET(Y15)

loop:
	ROW
	VBROADCASTSS (R8)(R13*8), Y12
	VPAND        places<>(SB), Y12, Y12
	VPBROADCASTD 4(R8)(R13*8), Y13
	CONVERTEDROW(0, Y0)
	CONVERTEDROW(32, Y1)
	CONVERTEDROW(64, Y2)
	CONVERTEDROW(96, Y3)
	CONVERTEDROW(128, Y4)
	CONVERTEDROW(160, Y5)
	CONVERTEDROW(192, Y6)
	CONVERTEDROW(224, Y7)
	INCQ R13
	DECQ CX
	JNE  loop
	VXORPS Y15, Y15, Y15
	FLUSHROWS
	VZEROUPPER
	RET

// func finishAVX2(acc *float32, n int)
TEXT ·finishAVX2(SB), NOSPLIT, $0-16
	MOVQ acc+0(FP), DI
	MOVQ n+8(FP), CX
	VMOVDQU exact<>(SB), Y15
	VMOVDQU lost<>(SB), Y14
	VMOVDQU sticky<>(SB), Y13
	VMOVUPS units<>(SB), Y12
	VPXOR   Y11, Y11, Y11

loop:
	VMOVDQU   (DI), Y0
	VPABSD    Y0, Y1
	VPCMPGTD  Y15, Y1, Y1      // more than 24 bits: of 31, keep 23
	VPAND     Y14, Y0, Y2
	VPCMPEQD  Y11, Y2, Y3
	VPANDN    Y13, Y3, Y3      // where bits are lost, the last one kept becomes odd
	VPANDN    Y0, Y14, Y2
	VPOR      Y3, Y2, Y2
	VPBLENDVB Y1, Y2, Y0, Y0
	VCVTDQ2PS Y0, Y0
	VMULPS    Y12, Y0, Y0
	VMOVUPS   Y0, (DI)
	ADDQ $32, DI
	SUBQ $8, CX
	JNE  loop
	VZEROUPPER
	RET

// func findExtremesAVX2(panel *float32, n int) (largest, smallest uint32)
TEXT ·findExtremesAVX2(SB), NOSPLIT, $0-24
	MOVQ panel+0(FP), SI
	MOVQ n+8(FP), CX
	VMOVDQU  magnitudes<>(SB), Y15
	VPCMPEQD Y14, Y14, Y14     // -1
	VPXOR    Y0, Y0, Y0        // largest magnitude
	VMOVDQU  Y14, Y1           // smallest magnitude less 1, which makes zeros the largest
	VPXOR    Y4, Y4, Y4
	VMOVDQU  Y14, Y5

loop:
	VPAND   (SI), Y15, Y2
	VPAND   32(SI), Y15, Y6
	VPMAXUD Y2, Y0, Y0
	VPMAXUD Y6, Y4, Y4
	VPADDD  Y14, Y2, Y2
	VPADDD  Y14, Y6, Y6
	VPMINUD Y2, Y1, Y1
	VPMINUD Y6, Y5, Y5
	ADDQ $64, SI
	SUBQ $16, CX
	JNE  loop

	VPMAXUD Y4, Y0, Y0
	VPMINUD Y5, Y1, Y1
	VEXTRACTI128 $1, Y0, X2
	VEXTRACTI128 $1, Y1, X3
	VPMAXUD X2, X0, X0
	VPMINUD X3, X1, X1
	VPSHUFD $0x4e, X0, X2
	VPSHUFD $0x4e, X1, X3
	VPMAXUD X2, X0, X0
	VPMINUD X3, X1, X1
	VPSHUFD $0xb1, X0, X2
	VPSHUFD $0xb1, X1, X3
	VPMAXUD X2, X0, X0
	VPMINUD X3, X1, X1
	VMOVD X0, AX
	MOVL  AX, largest+16(FP)
	VMOVD X1, BX
	MOVL  BX, smallest+20(FP)
	VZEROUPPER
	RET

// func prepareAVX2(weights *weight, widened *float32, n int, d *digest)
TEXT ·prepareAVX2(SB), NOSPLIT, $0-32
	MOVQ weights+0(FP), DI
	MOVQ widened+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ d+24(FP), DX
	VMOVDQU  magnitudes<>(SB), Y15
	VMOVUPS  outward<>(SB), Y14
	VMOVDQU  fields<>(SB), Y13
	VMOVDQU  denormals<>(SB), Y12
	VMOVDQU  limits<>(SB), Y11
	VPCMPEQD Y10, Y10, Y10 // -1
	VPXOR    Y9, Y9, Y9
	VXORPS   Y0, Y0, Y0    // sum
	VPXOR    Y1, Y1, Y1    // largest
	VMOVDQU  Y10, Y2       // smallest, less 1
	VPXOR    Y3, Y3, Y3    // minus the number of zeros

loop:
	VMOVUPS    (SI), Y4
	VPAND      Y15, Y4, Y5
	VADDPS     Y5, Y0, Y0
	VPMAXUD    Y5, Y1, Y1
	VPADDD     Y10, Y5, Y6
	VPMINUD    Y6, Y2, Y2
	VPCMPEQD   Y9, Y5, Y6
	VPADDD     Y6, Y3, Y3
	VMULPS     Y14, Y4, Y4
	VPAND      Y13, Y5, Y5
	VPMAXSD    Y12, Y5, Y5
	VPSUBD     Y5, Y11, Y5
	VPCMPGTD   Y5, Y12, Y6  // no product is dropped: -1
	VPOR       Y6, Y5, Y5
	VPUNPCKLDQ Y5, Y4, Y6   // weights 0, 1, 4, 5 with their limits
	VPUNPCKHDQ Y5, Y4, Y7   // 2, 3, 6, 7
	VPERM2I128 $0x20, Y7, Y6, Y4
	VPERM2I128 $0x31, Y7, Y6, Y5
	VMOVDQU    Y4, (DI)
	VMOVDQU    Y5, 32(DI)
	ADDQ $32, SI
	ADDQ $64, DI
	SUBQ $8, CX
	JNE  loop

	VEXTRACTF128 $1, Y0, X4
	VADDPS  X4, X0, X0
	VHADDPS X0, X0, X0
	VHADDPS X0, X0, X0
	VMOVSS  X0, 0(DX)
	VEXTRACTI128 $1, Y1, X4
	VPMAXUD X4, X1, X1
	VPSHUFD $0x4e, X1, X4
	VPMAXUD X4, X1, X1
	VPSHUFD $0xb1, X1, X4
	VPMAXUD X4, X1, X1
	VMOVD   X1, 4(DX)
	VEXTRACTI128 $1, Y2, X4
	VPMINUD X4, X2, X2
	VPSHUFD $0x4e, X2, X4
	VPMINUD X4, X2, X2
	VPSHUFD $0xb1, X2, X4
	VPMINUD X4, X2, X2
	VMOVD   X2, 8(DX)
	VEXTRACTI128 $1, Y3, X4
	VPADDD  X4, X3, X3
	VPHADDD X3, X3, X3
	VPHADDD X3, X3, X3
	VMOVD   X3, AX
	NEGL    AX
	MOVLQSX AX, AX
	MOVQ    AX, 16(DX)
	VZEROUPPER
	RET
