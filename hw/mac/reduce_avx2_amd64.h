// AVX2 cannot round a single operation toward zero, but a conversion to integers
// truncates. With e the larger exponent of the operands, both are scaled by
// 2^(11-e), truncated, added as integers and scaled back, every other operation
// being exact. 2^(11-e) comes from e's exponent field by subtraction; for two
// zeros it is some finite number, which leaves them zero. An infinite or NaN
// operand shows in the largest exponent field seen.

#define EIGHT(NAME, VALUE) \
	DATA NAME<>+0(SB)/4, VALUE  \
	DATA NAME<>+4(SB)/4, VALUE  \
	DATA NAME<>+8(SB)/4, VALUE  \
	DATA NAME<>+12(SB)/4, VALUE \
	DATA NAME<>+16(SB)/4, VALUE \
	DATA NAME<>+20(SB)/4, VALUE \
	DATA NAME<>+24(SB)/4, VALUE \
	DATA NAME<>+28(SB)/4, VALUE \
	GLOBL NAME<>(SB), RODATA|NOPTR, $32

EIGHT(exponents8, $0x7f800000)
EIGHT(magnitude8, $0x7fffffff)
EIGHT(twelve8, $0xfffff000) // sign, exponent, 12 significant bits
EIGHT(eleven8, $0x05800000) // 11 in the exponent field
EIGHT(unscale8, $0x84800000) // 127+11 + 127 in the exponent field, modulo 2^9

#define CONSTANTS \
	VMOVDQU exponents8<>(SB), Y15 \
	VMOVDQU unscale8<>(SB), Y14   \
	VMOVDQU eleven8<>(SB), Y13

// EXPONENT leaves the larger exponent field of S and P in Y12 and keeps the
// largest of all in Y9.
#define EXPONENT(S, P) \
	VPAND   Y15, P, Y11    \
	VPAND   Y15, S, Y12    \
	VPMAXSD Y11, Y12, Y12  \
	VPMAXSD Y12, Y9, Y9

// ADD: S = tile adder of S and P, whose exponent is in Y12.
#define ADD(S, P) \
	VPSUBD  Y12, Y14, Y11  \
	VPSUBD  Y13, Y12, Y12  \
	VMULPS  Y11, S, S      \
	VMULPS  Y11, P, P      \
	VCVTTPS2DQ S, S        \
	VCVTTPS2DQ P, P        \
	VPADDD  P, S, S        \
	VCVTDQ2PS S, S         \
	VMULPS  Y12, S, S

#define FIRST4 \
	VBROADCASTSS (DX), Y10  \
	VMULPS (SI), Y10, Y0    \
	VMULPS 32(SI), Y10, Y1  \
	VMULPS 64(SI), Y10, Y2  \
	VMULPS 96(SI), Y10, Y3  \
	PREFETCHT0 (SI)(R9*1)   \
	PREFETCHT0 64(SI)(R9*1) \
	ADDQ R8, SI

#define NEXT(I, OFF, S) \
	VBROADCASTSS (4*I)(DX), Y10 \
	VMULPS OFF(SI), Y10, Y10    \
	EXPONENT(S, Y10)            \
	ADD(S, Y10)

#define NEXT4(I) \
	NEXT(I, 0, Y0)          \
	NEXT(I, 32, Y1)         \
	NEXT(I, 64, Y2)         \
	NEXT(I, 96, Y3)         \
	PREFETCHT0 (SI)(R9*1)   \
	PREFETCHT0 64(SI)(R9*1) \
	ADDQ R8, SI

#define JOIN(S, ACC) \
	VADDPS S, ACC, ACC                   \
	VPAND  magnitude8<>(SB), ACC, Y10    \
	VPMAXSD Y10, Y8, Y8

#define JOIN4 \
	JOIN(Y0, Y4) \
	JOIN(Y1, Y5) \
	JOIN(Y2, Y6) \
	JOIN(Y3, Y7)

// VERDICT sets the flag when the largest magnitude in Y8 is not below the limit in
// Y10 or the largest exponent in Y9 is that of infinity. A tile of one tap shows no
// exponent, but it leaves its infinity or NaN in the accumulator; compared as
// integers, the magnitude of NaN is the largest of all.
#define VERDICT(FLAG) \
	VCMPPS   $5, Y10, Y8, Y10 \ // not less
	VPCMPEQD Y15, Y9, Y9      \
	VPOR     Y10, Y9, Y9      \
	VPTEST   Y9, Y9           \
	SETNE    FLAG             \
	VZEROUPPER                \
	RET
