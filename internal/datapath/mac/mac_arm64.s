//go:build !purego

#include "textflag.h"

// Kernels for NEON. The forms of the reduction are those of reduce_avx2_amd64.s: V0 to V15 hold the
// sums of a block, four vectors of taps times four registers of lanes, or one vector times sixteen.
//
// The assembler has no names for most of vector floating point. These are the encodings, with operands
// in its order (destination last) and given as register numbers.

#define FADD(m, n, d)   WORD $(0x4E20D400 | (m)<<16 | (n)<<5 | (d)) // d = n + m, 4 x fp32
#define FADDP(m, n, d)  WORD $(0x6E20D400 | (m)<<16 | (n)<<5 | (d)) // sums of adjacent pairs of n, m
#define FMUL(m, n, d)   WORD $(0x6E20DC00 | (m)<<16 | (n)<<5 | (d)) // d = n * m
#define FMAX(m, n, d)   WORD $(0x4E20F400 | (m)<<16 | (n)<<5 | (d)) // d = max(n, m)
#define FMIN(m, n, d)   WORD $(0x4EA0F400 | (m)<<16 | (n)<<5 | (d)) // d = min(n, m)
#define FABS(n, d)      WORD $(0x4EA0F800 | (n)<<5 | (d))           // d = |n|
#define FCMEQ(m, n, d)  WORD $(0x4E20E400 | (m)<<16 | (n)<<5 | (d)) // d = n == m
#define FCVTAS(n, d)    WORD $(0x4E21C800 | (n)<<5 | (d))           // to int32, ties away from zero
#define SCVTF16(n, d)   WORD $(0x4F30E400 | (n)<<5 | (d))           // from int32 in units of 2^-16
#define FCVTL(n, d)     WORD $(0x0E217800 | (n)<<5 | (d))           // the low 4 of 8 fp16 values to fp32
#define FCVTL2(n, d)    WORD $(0x4E217800 | (n)<<5 | (d))           // the high 4
#define FCVTN(n, d)     WORD $(0x0E216800 | (n)<<5 | (d))           // fp32 to 4 fp16 values, half to even
#define CMGT(m, n, d)   WORD $(0x4EA03400 | (m)<<16 | (n)<<5 | (d)) // d = n > m, 4 x int32
#define ABS(n, d)       WORD $(0x4EA0B800 | (n)<<5 | (d))           // d = |n|, 4 x int32
#define BIC(m, n, d)    WORD $(0x4E601C00 | (m)<<16 | (n)<<5 | (d)) // d = n &^ m
#define UMAXV(n, d)     WORD $(0x6EB0A800 | (n)<<5 | (d))           // largest of 4 x uint32
#define UMINV(n, d)     WORD $(0x6EB1A800 | (n)<<5 | (d))           // smallest

#define EACH(BITS, V) \
	MOVW $BITS, R5 \
	VDUP R5, V.S4

// BLOCK loads the fields of a block.
#define BLOCK \
	MOVD b+0(FP), R0                         \
	LDP  32(R0), (R1, R2)                    \ // vectors
	LDP  48(R0), (R3, R4)                    \
	LDP  64(R0), (R7, R8)                    \ // panel, stride
	LDP  80(R0), (R9, R10)                     // taps, taps until a flush

// CHUNK sets R11 to the number of taps until the next flush and takes them from R9.
#define CHUNK \
	CMP  R9, R10           \
	CSEL LT, R10, R9, R11  \
	SUB  R11, R9

#define SET4(V, A, B, C, D) \
	VMOV V.B16, A.B16 \
	VMOV V.B16, B.B16 \
	VMOV V.B16, C.B16 \
	VMOV V.B16, D.B16

#define SET(V) \
	SET4(V, V0, V1, V2, V3)   \
	SET4(V, V4, V5, V6, V7)   \
	SET4(V, V8, V9, V10, V11) \
	SET4(V, V12, V13, V14, V15)

// FLUSH adds four registers of sums, less what they started with in V31, to the integers at R5, and
// moves R5 behind these.
#define FLUSH(A, B, C, D) \
	VLD1   (R5), [V16.S4, V17.S4, V18.S4, V19.S4] \
	VSUB   V31.S4, A.S4, A.S4                     \
	VSUB   V31.S4, B.S4, B.S4                     \
	VSUB   V31.S4, C.S4, C.S4                     \
	VSUB   V31.S4, D.S4, D.S4                     \
	VADD   V16.S4, A.S4, V16.S4                   \
	VADD   V17.S4, B.S4, V17.S4                   \
	VADD   V18.S4, C.S4, V18.S4                   \
	VADD   V19.S4, D.S4, V19.S4                   \
	VST1.P [V16.S4, V17.S4, V18.S4, V19.S4], 64(R5)

#define FLUSHBLOCK \
	MOVD 0(R0), R5           \
	FLUSH(V0, V1, V2, V3)    \
	MOVD 8(R0), R5           \
	FLUSH(V4, V5, V6, V7)    \
	MOVD 16(R0), R5          \
	FLUSH(V8, V9, V10, V11)  \
	MOVD 24(R0), R5          \
	FLUSH(V12, V13, V14, V15)

// FUSED multiplies four registers of operands with a weight. V21 holds the limit of the weight, which
// this form does not need.
#define FUSED(A, B, C, D) \
	VFMLA V16.S4, V20.S4, A.S4 \
	VFMLA V17.S4, V20.S4, B.S4 \
	VFMLA V18.S4, V20.S4, C.S4 \
	VFMLA V19.S4, V20.S4, D.S4

#define WEIGHT(R) VLD2R.P 8(R), [V20.S4, V21.S4]

// func addFusedNEON(b *block)
TEXT ·addFusedNEON(SB), NOSPLIT, $0-8
	BLOCK
	EACH(0x4b400000, V31) // 1.5 * 2^23

chunk:
	CHUNK
	SET(V31)

loop:
	VLD1 (R7), [V16.S4, V17.S4, V18.S4, V19.S4]
	ADD  R8, R7
	WEIGHT(R1)
	FUSED(V0, V1, V2, V3)
	WEIGHT(R2)
	FUSED(V4, V5, V6, V7)
	WEIGHT(R3)
	FUSED(V8, V9, V10, V11)
	WEIGHT(R4)
	FUSED(V12, V13, V14, V15)
	SUBS $1, R11
	BNE  loop
	FLUSHBLOCK
	CBNZ R9, chunk
	RET

// MAGNITUDES sets V24 to V27 to the magnitudes of V16 to V19.
#define MAGNITUDES \
	FABS(16, 24) \
	FABS(17, 25) \
	FABS(18, 26) \
	FABS(19, 27)

#define OPERANDS \
	VLD1 (R7), [V16.S4, V17.S4, V18.S4, V19.S4] \
	ADD  R8, R7                                 \
	MAGNITUDES

#define MASKEDPRODUCT(m, X, S) \
	CMGT(21, m, 22)                \
	VAND  X.B16, V22.B16, V22.B16  \
	VFMLA V22.S4, V20.S4, S.S4

#define MASKED(A, B, C, D) \
	MASKEDPRODUCT(24, V16, A) \
	MASKEDPRODUCT(25, V17, B) \
	MASKEDPRODUCT(26, V18, C) \
	MASKEDPRODUCT(27, V19, D)

// func addMaskedNEON(b *block)
TEXT ·addMaskedNEON(SB), NOSPLIT, $0-8
	BLOCK
	EACH(0x4b400000, V31) // 1.5 * 2^23

chunk:
	CHUNK
	SET(V31)

loop:
	OPERANDS
	WEIGHT(R1)
	MASKED(V0, V1, V2, V3)
	WEIGHT(R2)
	MASKED(V4, V5, V6, V7)
	WEIGHT(R3)
	MASKED(V8, V9, V10, V11)
	WEIGHT(R4)
	MASKED(V12, V13, V14, V15)
	SUBS $1, R11
	BNE  loop
	FLUSHBLOCK
	CBNZ R9, chunk
	RET

// CONVERTEDPRODUCT rounds the products with plain weights to integers.
#define CONVERTEDPRODUCT(m, x, S) \
	FMUL(20, x, 23)                 \
	CMGT(21, m, 22)                 \
	FCVTAS(23, 23)                  \
	VAND V22.B16, V23.B16, V23.B16  \
	VADD V23.S4, S.S4, S.S4

// CONVERTED multiplies with a weight, of which V29 takes what the weight has of its scaled value.
#define CONVERTED(A, B, C, D) \
	VAND V29.B16, V20.B16, V20.B16 \
	CONVERTEDPRODUCT(24, 16, A)    \
	CONVERTEDPRODUCT(25, 17, B)    \
	CONVERTEDPRODUCT(26, 18, C)    \
	CONVERTEDPRODUCT(27, 19, D)

// func addConvertedNEON(b *block)
TEXT ·addConvertedNEON(SB), NOSPLIT, $0-8
	BLOCK
	EACH(0xffffe000, V29)
	VEOR V31.B16, V31.B16, V31.B16
	SET(V31)

loop:
	OPERANDS
	WEIGHT(R1)
	CONVERTED(V0, V1, V2, V3)
	WEIGHT(R2)
	CONVERTED(V4, V5, V6, V7)
	WEIGHT(R3)
	CONVERTED(V8, V9, V10, V11)
	WEIGHT(R4)
	CONVERTED(V12, V13, V14, V15)
	SUBS $1, R9
	BNE  loop
	FLUSHBLOCK
	RET

#define ROWS \
	MOVD b+0(FP), R0        \
	LDP  (R0), (R12, R1)    \ // sums, taps
	LDP  16(R0), (R7, R8)   \ // plane, rows
	LDP  32(R0), (R9, R10)    // taps, taps until a flush

// ROW loads a weight and sets R6 to its row.
#define ROW \
	MOVD.P 8(R8), R6   \
	ADD  R6<<2, R7, R6 \
	WEIGHT(R1)

#define ROW16 VLD1.P 64(R6), [V16.S4, V17.S4, V18.S4, V19.S4]

#define FLUSHROWS \
	MOVD R12, R5              \
	FLUSH(V0, V1, V2, V3)     \
	FLUSH(V4, V5, V6, V7)     \
	FLUSH(V8, V9, V10, V11)   \
	FLUSH(V12, V13, V14, V15)

// func addRowsFusedNEON(b *rowBlock)
TEXT ·addRowsFusedNEON(SB), NOSPLIT, $0-8
	ROWS
	EACH(0x4b400000, V31) // 1.5 * 2^23

chunk:
	CHUNK
	SET(V31)

loop:
	ROW
	ROW16
	FUSED(V0, V1, V2, V3)
	ROW16
	FUSED(V4, V5, V6, V7)
	ROW16
	FUSED(V8, V9, V10, V11)
	ROW16
	FUSED(V12, V13, V14, V15)
	SUBS $1, R11
	BNE  loop
	FLUSHROWS
	CBNZ R9, chunk
	RET

// func addRowsMaskedNEON(b *rowBlock)
TEXT ·addRowsMaskedNEON(SB), NOSPLIT, $0-8
	ROWS
	EACH(0x4b400000, V31) // 1.5 * 2^23

chunk:
	CHUNK
	SET(V31)

loop:
	ROW
	ROW16
	MAGNITUDES
	MASKED(V0, V1, V2, V3)
	ROW16
	MAGNITUDES
	MASKED(V4, V5, V6, V7)
	ROW16
	MAGNITUDES
	MASKED(V8, V9, V10, V11)
	ROW16
	MAGNITUDES
	MASKED(V12, V13, V14, V15)
	SUBS $1, R11
	BNE  loop
	FLUSHROWS
	CBNZ R9, chunk
	RET

// func addRowsConvertedNEON(b *rowBlock)
TEXT ·addRowsConvertedNEON(SB), NOSPLIT, $0-8
	ROWS
	EACH(0xffffe000, V29)
	VEOR V31.B16, V31.B16, V31.B16
	SET(V31)

loop:
	ROW
	ROW16
	MAGNITUDES
	CONVERTED(V0, V1, V2, V3)
	ROW16
	MAGNITUDES
	CONVERTED(V4, V5, V6, V7)
	ROW16
	MAGNITUDES
	CONVERTED(V8, V9, V10, V11)
	ROW16
	MAGNITUDES
	CONVERTED(V12, V13, V14, V15)
	SUBS $1, R9
	BNE  loop
	FLUSHROWS
	RET

// func finishNEON(acc *float32, n int)
TEXT ·finishNEON(SB), NOSPLIT, $0-16
	MOVD acc+0(FP), R0
	MOVD n+8(FP), R2
	EACH(0x00ffffff, V16) // largest magnitude that fp32 holds exactly
	EACH(0xff, V17)
	EACH(0x100, V18)
	VEOR V19.B16, V19.B16, V19.B16

loop:
	VLD1 (R0), [V0.S4]
	ABS(0, 1)
	CMGT(16, 1, 1)                // more than 24 bits: of 31, keep 23
	VAND  V17.B16, V0.B16, V2.B16
	VCMEQ V19.S4, V2.S4, V3.S4
	BIC(3, 18, 3)                 // where bits are lost, the last one kept becomes odd
	BIC(17, 0, 2)
	VORR  V3.B16, V2.B16, V2.B16
	VBIT  V1.B16, V2.B16, V0.B16
	SCVTF16(0, 0)
	VST1.P [V0.S4], 16(R0)
	SUBS $4, R2
	BNE  loop
	RET

// func findExtremesNEON(panel *float32, n int) (largest, smallest uint32)
TEXT ·findExtremesNEON(SB), NOSPLIT, $0-24
	MOVD panel+0(FP), R1
	MOVD n+8(FP), R2
	EACH(1, V16)
	VEOR V4.B16, V4.B16, V4.B16 // largest magnitude
	VEOR V5.B16, V5.B16, V5.B16
	VSUB V16.S4, V4.S4, V6.S4   // smallest magnitude less 1, which makes zeros the largest
	VMOV V6.B16, V7.B16

loop:
	VLD1.P 32(R1), [V0.S4, V1.S4]
	FABS(0, 0)
	FABS(1, 1)
	VUMAX V0.S4, V4.S4, V4.S4
	VUMAX V1.S4, V5.S4, V5.S4
	VSUB  V16.S4, V0.S4, V0.S4
	VSUB  V16.S4, V1.S4, V1.S4
	VUMIN V0.S4, V6.S4, V6.S4
	VUMIN V1.S4, V7.S4, V7.S4
	SUBS $8, R2
	BNE  loop

	VUMAX V5.S4, V4.S4, V4.S4
	VUMIN V7.S4, V6.S4, V6.S4
	UMAXV(4, 4)
	UMINV(6, 6)
	VMOV V4.S[0], R5
	MOVW R5, largest+16(FP)
	VMOV V6.S[0], R5
	MOVW R5, smallest+20(FP)
	RET

// func prepareNEON(weights *weight, widened *float32, n int, d *digest)
TEXT ·prepareNEON(SB), NOSPLIT, $0-32
	MOVD weights+0(FP), R0
	MOVD widened+8(FP), R1
	MOVD n+16(FP), R2
	MOVD d+24(FP), R3
	EACH(1, V16)
	EACH(0x47800001, V17) // 2^16 * (1 + 2^-23)
	EACH(0x7f800000, V18) // exponent field
	EACH(0x38800000, V19) // 2^-14
	EACH(0x76ffffff, V20) // (2*127-16)<<23 - 1
	VEOR V21.B16, V21.B16, V21.B16
	VEOR V4.B16, V4.B16, V4.B16 // sum
	VEOR V5.B16, V5.B16, V5.B16 // largest
	VSUB V16.S4, V5.S4, V6.S4   // smallest, less 1
	VEOR V7.B16, V7.B16, V7.B16 // minus the number of zeros

loop:
	VLD1.P 16(R1), [V0.S4]
	FABS(0, 2)
	FADD(2, 4, 4)
	VUMAX V2.S4, V5.S4, V5.S4
	VSUB  V16.S4, V2.S4, V3.S4
	VUMIN V3.S4, V6.S4, V6.S4
	VCMEQ V21.S4, V2.S4, V3.S4
	VADD  V3.S4, V7.S4, V7.S4
	FMUL(17, 0, 0)
	VAND  V18.B16, V2.B16, V2.B16
	VUMAX V19.S4, V2.S4, V2.S4
	VSUB  V2.S4, V20.S4, V1.S4
	CMGT(1, 19, 3)              // no product is dropped: -1
	VORR  V3.B16, V1.B16, V1.B16
	VST2.P [V0.S4, V1.S4], 32(R0)
	SUBS $4, R2
	BNE  loop

	FADDP(4, 4, 4)
	FADDP(4, 4, 4)
	UMAXV(5, 5)
	UMINV(6, 6)
	VADDV V7.S4, V7
	VMOV V4.S[0], R5
	MOVW R5, 0(R3)
	VMOV V5.S[0], R5
	MOVW R5, 4(R3)
	VMOV V6.S[0], R5
	MOVW R5, 8(R3)
	VMOV V7.S[0], R5
	NEGW R5, R5
	SXTW R5, R5
	MOVD R5, 16(R3)
	RET

// func widenNEON(dst *float32, src *float16.Float16, n int)
TEXT ·widenNEON(SB), NOSPLIT, $0-24
	MOVD dst+0(FP), R0
	MOVD src+8(FP), R1
	MOVD n+16(FP), R2
	EACH(0x7f800000, V16) // infinity

loop:
	VLD1.P 16(R1), [V0.H8]
	FCVTL(0, 1)
	FCVTL2(0, 2)
	FCMEQ(1, 1, 3) // not NaN
	FCMEQ(2, 2, 4)
	VBIF V3.B16, V16.B16, V1.B16
	VBIF V4.B16, V16.B16, V2.B16
	VST1.P [V1.S4, V2.S4], 32(R0)
	SUBS $8, R2
	BNE  loop
	RET

// func narrowNEON(dst *float16.Float16, acc *float32, n int, scale, bias, low float32)
TEXT ·narrowNEON(SB), NOSPLIT, $0-36
	MOVD dst+0(FP), R0
	MOVD acc+8(FP), R1
	MOVD n+16(FP), R2
	MOVWU scale+24(FP), R3
	VDUP R3, V16.S4
	MOVWU bias+28(FP), R3
	VDUP R3, V17.S4
	MOVWU low+32(FP), R3
	VDUP R3, V18.S4
	EACH(0x47800000, V19) // 65536, which becomes infinity
	EACH(1, V20)

loop:
	VLD1.P 16(R1), [V0.S4]
	FMUL(16, 0, 0)
	FCMEQ(0, 0, 1) // not NaN
	VAND V1.B16, V0.B16, V0.B16
	FADD(17, 0, 0)
	FCMEQ(0, 0, 1)
	VAND V1.B16, V0.B16, V0.B16
	FMAX(18, 0, 0) // of two zeros +0
	FMIN(19, 0, 0)
	VORR V20.B16, V0.B16, V0.B16 // moves ties away from zero and nothing else across a tie
	FCVTN(0, 0)
	VST1.P [V0.H4], 8(R0)
	SUBS $4, R2
	BNE  loop
	RET
