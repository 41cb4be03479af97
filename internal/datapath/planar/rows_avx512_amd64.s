//go:build !purego

#include "textflag.h"
#include "sixteen_avx512_amd64.h"

// The terms of a reduction that are elements as they are, row by row.

#define WHOLE(ROW) VCVTPH2PS ROW, Z0
#define TAIL(ROW) VCVTPH2PS.Z ROW, K1, Z0

#define ADDED VADDPS Z0, Z1, Z1
#define LEAST_OF \
	VFIXUPIMMPS $0, Z14, Z0, Z0  \
	VRANGEPS $LEAST, Z0, Z1, Z1
#define LARGEST_OF \
	VFIXUPIMMPS $0, Z14, Z0, Z0   \
	VRANGEPS $LARGEST, Z0, Z1, Z1

#define ONE(READ, JOIN) \
	READ((SI)) \
	JOIN
#define FOUR(READ, JOIN) \
	READ((SI))       \
	JOIN             \
	READ((SI)(R8*1)) \
	JOIN             \
	READ((SI)(R8*2)) \
	JOIN             \
	READ((SI)(R9*1)) \
	JOIN

// ROWS joins accumulators at DI with as many elements of each row at SI, stride bytes apart.
// Rows from memory are asked for while those four before them are joined.
#define ROWS(COUNT, JOIN) \
	MOVQ acc+0(FP), DI           \
	MOVQ a+8(FP), SI             \
	MOVQ stride+16(FP), R8       \
	MOVQ n+24(FP), CX            \
	STRIDES                      \
	NUMBERS                      \
	SUBQ $16, CX                 \
	JLT  rest                    \
next:                            \
	PREFETCHT0 (SI)(R8*4)        \
	PREFETCHT0 (SI)(R10*1)       \
	PREFETCHT0 (SI)(R9*2)        \
	PREFETCHT0 (SI)(R11*1)       \
	VMOVUPS (DI), Z1             \
	COUNT(WHOLE, JOIN)           \
	VMOVUPS Z1, (DI)             \
	ADDQ $32, SI                 \
	ADDQ $64, DI                 \
	SUBQ $16, CX                 \
	JGE  next                    \
rest:                            \
	ADDQ $16, CX                 \
	JEQ  done                    \
	MASK                         \
	VMOVUPS.Z (DI), K1, Z1       \
	COUNT(TAIL, JOIN)            \
	VMOVUPS Z1, K1, (DI)         \
done:                            \
	VZEROUPPER                   \
	RET

// func addRowAVX512(acc *float32, a *float16.Float16, stride uintptr, n int)
//
// An element that is no number and a sum that has no value leave a NaN, in this loop and in
// the one of four rows.
TEXT ·addRowAVX512(SB), NOSPLIT, $0-32
	ROWS(ONE, ADDED)

// func addFourRowsAVX512(acc *float32, a *float16.Float16, stride uintptr, n int)
TEXT ·addFourRowsAVX512(SB), NOSPLIT, $0-32
	ROWS(FOUR, ADDED)

// func minRowAVX512(acc *float32, a *float16.Float16, stride uintptr, n int)
TEXT ·minRowAVX512(SB), NOSPLIT, $0-32
	ROWS(ONE, LEAST_OF)

// func minFourRowsAVX512(acc *float32, a *float16.Float16, stride uintptr, n int)
TEXT ·minFourRowsAVX512(SB), NOSPLIT, $0-32
	ROWS(FOUR, LEAST_OF)

// func maxRowAVX512(acc *float32, a *float16.Float16, stride uintptr, n int)
TEXT ·maxRowAVX512(SB), NOSPLIT, $0-32
	ROWS(ONE, LARGEST_OF)

// func maxFourRowsAVX512(acc *float32, a *float16.Float16, stride uintptr, n int)
TEXT ·maxFourRowsAVX512(SB), NOSPLIT, $0-32
	ROWS(FOUR, LARGEST_OF)
