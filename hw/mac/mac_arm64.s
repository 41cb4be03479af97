//go:build !purego

#include "textflag.h"

// The reduction is that of reduce_avx2_amd64.s: alignment by power-of-two factors,
// truncation by conversion to integers. The assembler has no names for vector
// floating point; these are the encodings, operands in its order (destination
// last) and given as register numbers.

#define FADD(m, n, d)   WORD $(0x4E20D400 | (m)<<16 | (n)<<5 | (d)) // d = n + m, 4 x fp32
#define FMUL(m, n, d)   WORD $(0x6E20DC00 | (m)<<16 | (n)<<5 | (d)) // d = n * m
#define FMAX(m, n, d)   WORD $(0x4E20F400 | (m)<<16 | (n)<<5 | (d)) // d = max(n, m)
#define FCMEQ(m, n, d)  WORD $(0x4E20E400 | (m)<<16 | (n)<<5 | (d)) // d = n == m
#define FCVTZS(n, d)    WORD $(0x4EA1B800 | (n)<<5 | (d))           // to int32, toward zero
#define SCVTF(n, d)     WORD $(0x4E21D800 | (n)<<5 | (d))           // from int32
#define FCVTL(n, d)     WORD $(0x0E217800 | (n)<<5 | (d))           // 4 fp16 values to fp32
#define FCVTN(n, d)     WORD $(0x0E216800 | (n)<<5 | (d))           // fp32 to 4 fp16 values, half to even
#define CMHI4H(m, n, d) WORD $(0x2E603400 | (m)<<16 | (n)<<5 | (d)) // d = n > m, unsigned halfwords
#define AND(m, n, d)    WORD $(0x4E201C00 | (m)<<16 | (n)<<5 | (d)) // d = n & m
#define UMAX(m, n, d)   WORD $(0x6EA06400 | (m)<<16 | (n)<<5 | (d)) // d = max(n, m), 4 x uint32
#define ADD4S(m, n, d)  WORD $(0x4EA08400 | (m)<<16 | (n)<<5 | (d)) // d = n + m, 4 x int32
#define SUB4S(m, n, d)  WORD $(0x6EA08400 | (m)<<16 | (n)<<5 | (d)) // d = n - m

// V31 exponent field, V30 127+127+11 in it (modulo 2^9), V29 11 in it,
// V28 magnitude, V27 largest magnitude, V26 largest exponent field, V25 tap.
#define PROLOGUE \
	MOVD acc+0(FP), R0     \
	MOVD panel+8(FP), R1   \
	MOVD taps+16(FP), R2   \
	MOVD k+24(FP), R3      \
	MOVD stride+32(FP), R4 \
	MOVW $0x7f800000, R5   \
	VDUP R5, V31.S4        \
	MOVW $0x84800000, R5   \
	VDUP R5, V30.S4        \
	MOVW $0x05800000, R5   \
	VDUP R5, V29.S4        \
	MOVW $0x7fffffff, R5   \
	VDUP R5, V28.S4        \
	VEOR V27.B16, V27.B16, V27.B16 \
	VEOR V26.B16, V26.B16, V26.B16

// STEP: s = tile adder of s and p, by way of e and r.
#define STEP(s, p, e, r) \
	AND(31, p, r)  \
	AND(31, s, e)  \
	UMAX(r, e, e)  \
	UMAX(e, 26, 26) \
	SUB4S(e, 30, r) \
	SUB4S(29, e, e) \
	FMUL(r, s, s)  \
	FMUL(r, p, p)  \
	FCVTZS(s, s)   \
	FCVTZS(p, p)   \
	ADD4S(p, s, s) \
	SCVTF(s, s)    \
	FMUL(e, s, s)

#define JOIN(s, a) \
	FADD(s, a, a)  \
	AND(28, a, s)  \
	UMAX(s, 27, 27)

// EPILOGUE folds the four columns of V27 and V26.
#define EPILOGUE(TOP, EXP) \
	VEXT $8, V27.B16, V27.B16, V0.B16 \
	UMAX(0, 27, 27)                   \
	VEXT $4, V27.B16, V27.B16, V0.B16 \
	UMAX(0, 27, 27)                   \
	VMOV V27.S[0], R5                 \
	MOVW R5, TOP                      \
	VEXT $8, V26.B16, V26.B16, V0.B16 \
	UMAX(0, 26, 26)                   \
	VEXT $4, V26.B16, V26.B16, V0.B16 \
	UMAX(0, 26, 26)                   \
	VMOV V26.S[0], R5                 \
	MOVW R5, EXP                      \
	RET

#define FIRST16 \
	VLD1R.P 4(R2), [V25.S4] \
	VLD1 (R1), [V0.S4, V1.S4, V2.S4, V3.S4] \
	ADD  R4, R1   \
	FMUL(25, 0, 0) \
	FMUL(25, 1, 1) \
	FMUL(25, 2, 2) \
	FMUL(25, 3, 3)

#define NEXT16 \
	VLD1R.P 4(R2), [V25.S4] \
	VLD1 (R1), [V8.S4, V9.S4, V10.S4, V11.S4] \
	ADD  R4, R1   \
	FMUL(25, 8, 8) \
	FMUL(25, 9, 9) \
	FMUL(25, 10, 10) \
	FMUL(25, 11, 11) \
	STEP(0, 8, 12, 16) \
	STEP(1, 9, 13, 17) \
	STEP(2, 10, 14, 18) \
	STEP(3, 11, 15, 19)

#define JOIN16 \
	JOIN(0, 4) \
	JOIN(1, 5) \
	JOIN(2, 6) \
	JOIN(3, 7)

// func reduce16NEON(acc, panel, taps *float32, k int, stride uintptr) (top, exp uint32)
TEXT ·reduce16NEON(SB), NOSPLIT, $0-48
	PROLOGUE
	VEOR V4.B16, V4.B16, V4.B16
	VEOR V5.B16, V5.B16, V5.B16
	VEOR V6.B16, V6.B16, V6.B16
	VEOR V7.B16, V7.B16, V7.B16
	SUBS $4, R3
	BLT  rest

tile:
	FIRST16
	NEXT16
	NEXT16
	NEXT16
	JOIN16
	SUBS $4, R3
	BGE  tile

rest:
	ADDS $4, R3
	BEQ  done
	FIRST16
	SUBS $1, R3
	BEQ  last
	NEXT16
	SUBS $1, R3
	BEQ  last
	NEXT16

last:
	JOIN16

done:
	VST1 [V4.S4, V5.S4, V6.S4, V7.S4], (R0)
	EPILOGUE(top+40(FP), exp+44(FP))

#define FIRST4 \
	VLD1R.P 4(R2), [V25.S4] \
	VLD1 (R1), [V0.S4] \
	ADD  R4, R1   \
	FMUL(25, 0, 0)

#define NEXT4 \
	VLD1R.P 4(R2), [V25.S4] \
	VLD1 (R1), [V8.S4] \
	ADD  R4, R1   \
	FMUL(25, 8, 8) \
	STEP(0, 8, 12, 16)

// func reduce4NEON(acc, panel, taps *float32, k int, stride uintptr) (top, exp uint32)
TEXT ·reduce4NEON(SB), NOSPLIT, $0-48
	PROLOGUE
	VEOR V4.B16, V4.B16, V4.B16
	SUBS $4, R3
	BLT  rest

tile:
	FIRST4
	NEXT4
	NEXT4
	NEXT4
	JOIN(0, 4)
	SUBS $4, R3
	BGE  tile

rest:
	ADDS $4, R3
	BEQ  done
	FIRST4
	SUBS $1, R3
	BEQ  last
	NEXT4
	SUBS $1, R3
	BEQ  last
	NEXT4

last:
	JOIN(0, 4)

done:
	VST1 [V4.S4], (R0)
	EPILOGUE(top+40(FP), exp+44(FP))

// func widenNEON(dst *float32, src *float16.Float16, n int)
TEXT ·widenNEON(SB), NOSPLIT, $0-24
	MOVD dst+0(FP), R0
	MOVD src+8(FP), R1
	MOVD n+16(FP), R2
	MOVD $0x7fff, R3
	VDUP R3, V16.H4
	MOVD $0x7c00, R3
	VDUP R3, V17.H4
	MOVD $0x03ff, R3 // largest denormal
	VDUP R3, V18.H4
	VEOR V19.B16, V19.B16, V19.B16

loop:
	VLD1.P 8(R1), [V0.H4]
	VAND V16.B8, V0.B8, V1.B8  // magnitude
	CMHI4H(17, 1, 2)           // NaN
	CMHI4H(18, 1, 3)           // normal or beyond
	VCMEQ V19.H4, V1.H4, V4.H4 // either zero
	VBIT V2.B8, V17.B8, V0.B8
	VORR V3.B8, V4.B8, V4.B8
	VAND V4.B8, V0.B8, V0.B8
	FCVTL(0, 0)
	VST1.P [V0.S4], 16(R0)
	SUBS $4, R2
	BNE  loop
	RET

// func narrowNEON(dst *float16.Float16, acc *float32, n int, scale, bias, floor float32, top uint16)
TEXT ·narrowNEON(SB), NOSPLIT, $0-38
	MOVD dst+0(FP), R0
	MOVD acc+8(FP), R1
	MOVD n+16(FP), R2
	MOVWU scale+24(FP), R3
	VDUP R3, V16.S4
	MOVWU bias+28(FP), R3
	VDUP R3, V17.S4
	MOVWU floor+32(FP), R3
	VDUP R3, V18.S4
	MOVHU top+36(FP), R3
	VDUP R3, V19.H4
	MOVD $0x7fff, R3
	VDUP R3, V20.H4
	MOVD $0x8000, R3
	VDUP R3, V21.H4
	MOVD $0x7c00, R3
	VDUP R3, V22.H4

loop:
	VLD1.P 16(R1), [V0.S4]
	FMUL(16, 0, 0)
	FCMEQ(0, 0, 1) // ordered
	VAND V1.B16, V0.B16, V0.B16
	FADD(17, 0, 0)
	FCMEQ(0, 0, 1)
	VAND V1.B16, V0.B16, V0.B16
	FMAX(18, 0, 0) // of two zeros +0
	FCVTN(0, 0)
	VAND V20.B8, V0.B8, V1.B8
	CMHI4H(19, 1, 1) // above the top
	VAND V21.B8, V0.B8, V2.B8
	VORR V22.B8, V2.B8, V2.B8
	VBIT V1.B8, V2.B8, V0.B8
	VST1.P [V0.H4], 8(R0)
	SUBS $4, R2
	BNE  loop
	RET
