//go:build !purego

#include "textflag.h"
#include "reduce_amd64.h"

// The kernels of reduce_avx2_amd64.s with registers of 16 lanes. Z0 to Z7 hold the sums of a block:
// four vectors of taps times two registers of lanes, or Z0 to Z3 one vector times four registers.
// Products that are dropped are masked out.

#define EACH(BITS, Z) \
	MOVL         $BITS, AX \
	VPBROADCASTD AX, Z

#define BIAS EACH(0x4b400000, Z15) // 1.5 * 2^23

#define MAGNITUDES EACH(0x7fffffff, Z16)

#define CONVERSION \
	EACH(0x80000000, Z17) \ // signs
	EACH(0x3f000000, Z18) \ // 1/2
	EACH(0xffffe000, Z19)   // what a weight has of its scaled value

#define SET4(Z) \
	VMOVAPS Z, Z0 \
	VMOVAPS Z, Z1 \
	VMOVAPS Z, Z2 \
	VMOVAPS Z, Z3

#define SET8(Z) \
	SET4(Z)       \
	VMOVAPS Z, Z4 \
	VMOVAPS Z, Z5 \
	VMOVAPS Z, Z6 \
	VMOVAPS Z, Z7

// FLUSH adds a register of sums, less what they started with in Z15, to the integers at P.
#define FLUSH(P, A) \
	VPSUBD    Z15, A, A \
	VPADDD    P, A, A   \
	VMOVDQU32 A, P

#define FLUSHVECTOR(OFF, A, B) \
	MOVQ OFF(DI), AX \
	FLUSH((AX), A)   \
	FLUSH(64(AX), B)

#define FLUSHBLOCK \
	FLUSHVECTOR(0, Z0, Z1)  \
	FLUSHVECTOR(8, Z2, Z3)  \
	FLUSHVECTOR(16, Z4, Z5) \
	FLUSHVECTOR(24, Z6, Z7)

#define FLUSHROWS \
	FLUSH((DI), Z0)    \
	FLUSH(64(DI), Z1)  \
	FLUSH(128(DI), Z2) \
	FLUSH(192(DI), Z3)

#define FUSED(R, A, B) \
	VBROADCASTSS (R)(R13*8), Z12 \
	VFMADD231PS  Z8, Z12, A      \
	VFMADD231PS  Z9, Z12, B

// func addFusedAVX512(b *block)
TEXT ·addFusedAVX512(SB), NOSPLIT, $0-8
	BLOCK
	BIAS

chunk:
	CHUNK
	SET8(Z15)

loop:
	VMOVUPS (SI), Z8
	VMOVUPS 64(SI), Z9
	FUSED(R8, Z0, Z1)
	FUSED(R9, Z2, Z3)
	FUSED(R10, Z4, Z5)
	FUSED(R11, Z6, Z7)
	ADDQ DX, SI
	INCQ R13
	DECQ R12
	JNE  loop
	FLUSHBLOCK
	TESTQ CX, CX
	JNE   chunk
	VZEROUPPER
	RET

// OPERAND loads a register of operands to X, and their magnitudes to M.
#define OPERAND(P, X, M) \
	VMOVUPS P, X      \
	VPANDD  Z16, X, M

#define MASKED(R, A, B) \
	VBROADCASTSS  (R)(R13*8), Z12       \
	VPCMPGTD.BCST 4(R)(R13*8), Z10, K1  \
	VPCMPGTD.BCST 4(R)(R13*8), Z11, K2  \
	VFMADD231PS   Z8, Z12, K1, A        \
	VFMADD231PS   Z9, Z12, K2, B

// func addMaskedAVX512(b *block)
TEXT ·addMaskedAVX512(SB), NOSPLIT, $0-8
	BLOCK
	BIAS
	MAGNITUDES

chunk:
	CHUNK
	SET8(Z15)

loop:
	OPERAND((SI), Z8, Z10)
	OPERAND(64(SI), Z9, Z11)
	MASKED(R8, Z0, Z1)
	MASKED(R9, Z2, Z3)
	MASKED(R10, Z4, Z5)
	MASKED(R11, Z6, Z7)
	ADDQ DX, SI
	INCQ R13
	DECQ R12
	JNE  loop
	FLUSHBLOCK
	TESTQ CX, CX
	JNE   chunk
	VZEROUPPER
	RET

// PRODUCT adds the products of X and the plain weights in Z12 to S where K is set, rounded to
// integers: half a unit is added to the magnitude, and the rest cut.
#define PRODUCT(X, K, S) \
	VMULPS     Z12, X, Z13   \
	VPANDD     Z17, Z13, Z14 \
	VPORD      Z18, Z14, Z14 \
	VADDPS     Z14, Z13, Z13 \
	VCVTTPS2DQ Z13, Z13      \
	VPADDD     Z13, S, K, S

#define CONVERTED(R, A, B) \
	VPANDD.BCST   (R)(R13*8), Z19, Z12  \
	VPCMPGTD.BCST 4(R)(R13*8), Z10, K1  \
	VPCMPGTD.BCST 4(R)(R13*8), Z11, K2  \
	PRODUCT(Z8, K1, A)                  \
	PRODUCT(Z9, K2, B)

// func addConvertedAVX512(b *block)
TEXT ·addConvertedAVX512(SB), NOSPLIT, $0-8
	BLOCK
	MAGNITUDES
	CONVERSION
	VXORPS Z15, Z15, Z15
	SET8(Z15)

loop:
	OPERAND((SI), Z8, Z10)
	OPERAND(64(SI), Z9, Z11)
	CONVERTED(R8, Z0, Z1)
	CONVERTED(R9, Z2, Z3)
	CONVERTED(R10, Z4, Z5)
	CONVERTED(R11, Z6, Z7)
	ADDQ DX, SI
	INCQ R13
	DECQ CX
	JNE  loop
	FLUSHBLOCK
	VZEROUPPER
	RET

// func addRowsFusedAVX512(b *rowBlock)
TEXT ·addRowsFusedAVX512(SB), NOSPLIT, $0-8
	ROWS
	BIAS

chunk:
	CHUNK
	SET4(Z15)

loop:
	ROW
	VBROADCASTSS (R8)(R13*8), Z12
	VFMADD231PS (AX), Z12, Z0
	VFMADD231PS 64(AX), Z12, Z1
	VFMADD231PS 128(AX), Z12, Z2
	VFMADD231PS 192(AX), Z12, Z3
	INCQ R13
	DECQ R12
	JNE  loop
	FLUSHROWS
	TESTQ CX, CX
	JNE   chunk
	VZEROUPPER
	RET

#define MASKEDROW(OFF, S) \
	OPERAND(OFF(AX), Z8, Z10)     \
	VPCMPGTD    Z13, Z10, K1      \
	VFMADD231PS Z8, Z12, K1, S

// func addRowsMaskedAVX512(b *rowBlock)
TEXT ·addRowsMaskedAVX512(SB), NOSPLIT, $0-8
	ROWS
	BIAS
	MAGNITUDES

chunk:
	CHUNK
	SET4(Z15)

loop:
	ROW
	VBROADCASTSS (R8)(R13*8), Z12
	VPBROADCASTD 4(R8)(R13*8), Z13
	MASKEDROW(0, Z0)
	MASKEDROW(64, Z1)
	MASKEDROW(128, Z2)
	MASKEDROW(192, Z3)
	INCQ R13
	DECQ R12
	JNE  loop
	FLUSHROWS
	TESTQ CX, CX
	JNE   chunk
	VZEROUPPER
	RET

#define CONVERTEDROW(OFF, S) \
	OPERAND(OFF(AX), Z8, Z10)  \
	VPCMPGTD Z9, Z10, K1       \
	PRODUCT(Z8, K1, S)

// func addRowsConvertedAVX512(b *rowBlock)
TEXT ·addRowsConvertedAVX512(SB), NOSPLIT, $0-8
	ROWS
	MAGNITUDES
	CONVERSION
	VXORPS Z15, Z15, Z15
	SET4(Z15)

loop:
	ROW
	VPANDD.BCST  (R8)(R13*8), Z19, Z12
	VPBROADCASTD 4(R8)(R13*8), Z9
	CONVERTEDROW(0, Z0)
	CONVERTEDROW(64, Z1)
	CONVERTEDROW(128, Z2)
	CONVERTEDROW(192, Z3)
	INCQ R13
	DECQ CX
	JNE  loop
	FLUSHROWS
	VZEROUPPER
	RET
