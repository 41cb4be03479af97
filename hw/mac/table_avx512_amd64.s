//go:build !purego

#include "go_asm.h"
#include "textflag.h"

// The 32 knots and the 32 rises each fill two registers, so that a look-up is one
// permutation. Every case of Table.eval is computed and the right one is blended in
// last, as in evalAVX2.

DATA consts<>+0(SB)/4, $0x42000000  // 32
DATA consts<>+4(SB)/4, $31          // last segment
DATA consts<>+8(SB)/4, $0x3f800000  // 1
DATA consts<>+12(SB)/4, $0x3f000000 // 1/2
DATA consts<>+16(SB)/4, $0x42c80000 // 100
DATA consts<>+20(SB)/4, $0xc2c80000 // -100
DATA consts<>+24(SB)/4, $0x88       // NaN to +0: class 8 for the classes 0 and 1 of VFIXUPIMM
DATA consts<>+28(SB)/4, $0x4b000000 // 2^23
DATA consts<>+32(SB)/4, $0x4b400000 // 1.5 * 2^23
DATA consts<>+36(SB)/4, $0x4b00001f // 2^23 + 31
GLOBL consts<>(SB), RODATA|NOPTR, $40

// NAN0 turns NaN into +0.
#define NAN0(X) VFIXUPIMMPS.BCST $0, consts<>+24(SB), X, X

// INPUT leaves scale*acc + bias in Z0.
#define INPUT \
	VMULPS (SI), Z31, Z0   \
	VCMPPS $3, Z0, Z0, K1  \ // unordered
	VMOVAPS Z29, K1, Z0    \
	VADDPS Z30, Z0, Z0     \
	NAN0(Z0)

// SEGMENT leaves the knot below the position in Z2 in Z3, and what is added to it in Z2.
#define SEGMENT \
	VCVTTPS2DQ Z2, Z3      \
	VPMINSD Z23, Z3, Z3    \
	VCVTDQ2PS Z3, Z4       \
	VSUBPS Z4, Z2, Z2      \ // fraction
	VMOVAPS Z3, Z4         \
	VPERMI2PS Z15, Z16, Z4 \ // rise
	VPERMI2PS Z17, Z18, Z3 \ // knot
	VMULPS Z4, Z2, Z2

// BEYOND is how many times 16 inputs are taken not to lie between the knots behind 16 of which
// one did not.
#define BEYOND 16

// AHEAD asks for the line that is read 64 times later: accumulators that come from memory
// take that long, and what the processor asks for by itself comes too late.
#define AHEAD \
	PREFETCHT0 4096(SI) \
	PREFETCHT0 2048(DI)

// SHORT leaves scale*acc + bias in Z0 and goes where one of 16 is not an input whose value lies
// between two knots.
#define SHORT(ELSE) \
	AHEAD                \
	VMULPS (SI), Z31, Z0 \
	VADDPS Z30, Z0, Z0   \
	KNOWN(ELSE)

// SHORTODD does so with its magnitude, and leaves the sign in Z8.
#define SHORTODD(ELSE) \
	AHEAD                \
	VMULPS (SI), Z31, Z0 \
	VADDPS Z30, Z0, Z0   \
	VPANDD Z28, Z0, Z8   \
	VPXORD Z8, Z0, Z0    \
	KNOWN(ELSE)

#define KNOWN(ELSE) \
	VCMPPS.BCST $13, Table_insideLow(DX), Z0, K1     \
	VCMPPS.BCST $2, Table_insideHigh(DX), Z0, K1, K1 \
	KORTESTW K1, K1                                  \
	JCC  ELSE

// LINE turns the position in Z2, which has added to BIG, 2^23, the segment in its lowest bits
// in Z3, into the value between its knots.
#define LINE(BIG) \
	VSUBPS BIG, Z3, Z4     \
	VSUBPS Z4, Z2, Z2      \ // fraction
	VMOVAPS Z3, Z4         \
	VPERMI2PS Z15, Z16, Z4 \ // rise
	VPERMI2PS Z17, Z18, Z3 \ // knot
	VMULPS Z4, Z2, Z2      \
	VADDPS Z3, Z2, Z2

// KNOTS is LINE from a position below 32.
#define KNOTS(BIG) \
	VADDPS.RZ_SAE BIG, Z2, Z3 \
	LINE(BIG)

// SCALEDBY rounds Z2 to fp16 and multiplies it by 2^Z5, which leaves float32 only where fp16
// is 0 or infinite.
#define SCALEDBY \
	VCVTPS2PH $0, Z2, Y2  \
	VCVTPH2PS Y2, Z2      \
	VSCALEFPS Z5, Z2, Z2

// INSIDE, POWERS, ROOTS, INVERSES and LOGS leave values of 16 inputs between the knots in Z2
// before their rounding. Z10, and in the modes of exponents Z1, is 2^23. Positions are exact:
// 1/step is a power of two.
#define INSIDE \
	VMOVAPS Z0, Z2           \
	VFMADD213PS Z26, Z27, Z2 \
	KNOTS(Z10)

// POWERS has 1.5 * 2^23 in Z6, to take whole parts with, and 2^23 + 31 in Z11, as a fraction may
// round to 1.
#define POWERS(ELSE) \
	SHORT(ELSE)              \
	VADDPS.RD_SAE Z6, Z0, Z5 \
	VSUBPS Z6, Z5, Z5        \
	VSUBPS Z5, Z0, Z2        \
	VMULPS Z27, Z2, Z2       \
	VADDPS.RZ_SAE Z1, Z2, Z3 \
	VMINPS Z11, Z3, Z3       \
	LINE(Z1)                 \
	SCALEDBY

// ROOTS has 1/2 in Z7 and in Z25 1, or -1 for inverse ones.
#define ROOTS(ELSE) \
	SHORT(ELSE)              \
	VGETMANTPS $1, Z0, Z2    \ // in [1/2, 2), of a power of four
	VGETEXPPS Z0, Z5         \
	VFMADD213PS Z7, Z7, Z5   \
	VRNDSCALEPS $9, Z5, Z5   \
	VMULPS Z25, Z5, Z5       \
	VMULPS Z27, Z2, Z2       \
	KNOTS(Z1)                \
	SCALEDBY

// MANTISSA leaves the position of a mantissa in [1/2, 1) in Z2 and its exponent in Z5. Z11 is 1.
#define MANTISSA \
	VGETMANTPS $2, Z0, Z2    \
	VGETEXPPS Z0, Z5         \
	VADDPS Z11, Z5, Z5       \
	VFMADD213PS Z26, Z27, Z2

// INVERSES has 0 in Z6.
#define INVERSES(ELSE) \
	SHORTODD(ELSE)     \
	MANTISSA           \
	VSUBPS Z5, Z6, Z5  \
	KNOTS(Z1)          \
	SCALEDBY

#define LOGS(ELSE) \
	SHORT(ELSE)       \
	MANTISSA          \
	KNOTS(Z1)         \
	VADDPS Z5, Z2, Z2

// FINITE leaves the value for scale*acc + bias in Z2 before its rounding, by its magnitude
// where Z28 is the sign bit, and goes where one of 16 inputs is infinite or has no value. The
// rest needs no look at NaN, where the table is finite: the interpolation goes first,
// whatever it makes of inputs beyond the knots, which the tails and clamps then replace.
#define FINITE(ELSE) \
	AHEAD \
	VMULPS (SI), Z31, Z0     \
	VADDPS Z30, Z0, Z0       \
	VFPCLASSPSZ $0x99, Z0, K1 \ // infinite or NaN
	KORTESTW K1, K1          \
	JNE  ELSE                \
	VPANDD Z28, Z0, Z8       \
	VPXORD Z8, Z0, Z0        \
	VMULPS Z27, Z0, Z1       \ // pos
	VADDPS Z26, Z1, Z2       \
	SEGMENT                  \
	VADDPS Z3, Z2, Z2        \
	VCMPPS $1, Z11, Z1, K2   \ // pos < -base
	VMULPS Z5, Z0, K2, Z2    \
	VADDPS Z6, Z2, K2, Z2    \
	VCMPPS $14, Z25, Z1, K3  \ // pos > 32 - base
	VMULPS Z7, Z0, K3, Z2    \
	VADDPS Z9, Z2, K3, Z2    \
	CLAMPS

#define NEXT \
	ADDQ $64, SI \
	ADDQ $32, DI \
	SUBQ $16, CX

// LERP turns the position in Z2 into the value between its knots.
#define LERP \
	SEGMENT           \
	NAN0(Z2)          \
	VADDPS Z3, Z2, Z2 \
	NAN0(Z2)

// SCALED rounds Z2 to fp16 and multiplies it by 2^Z5, whose integer is held where fp32
// stays exact and fp16 has long become 0 or infinite.
#define SCALED \
	VCVTPS2PH $0, Z2, Y2 \
	VCVTPH2PS Y2, Z2     \
	VMAXPS Z10, Z5, Z5   \
	VMINPS Z9, Z5, Z5    \
	VSCALEFPS Z5, Z2, Z2

// CLAMPS puts the end values into Z2. The low clamp is looked at first, so it goes in
// last.
#define CLAMPS \
	VCMPPS $13, Z20, Z0, K1 \ // v >= high
	VMOVAPS Z19, K1, Z2     \
	VCMPPS $2, Z22, Z0, K1  \ // v <= low
	VMOVAPS Z21, K1, Z2

// OUTPUT gives Z2 the sign in Z8, rounds it and stores it.
#define OUTPUT \
	VPXORD Z8, Z2, Z2       \
	VCVTPS2PH $0, Z2, Y2    \
	VPANDD Y14, Y2, Y3      \ // magnitude
	VPCMPUW $6, Y13, Y3, K1 \ // above the top
	VPANDND Y2, Y14, Y4     \
	VPORD Y12, Y4, Y4       \
	VMOVDQU16 Y4, K1, Y2    \
	VPTESTNMW Y3, Y3, K1    \
	KANDD K1, K5, K1        \ // no negative zero
	VPXORD Y4, Y4, Y4       \
	VMOVDQU16 Y4, K1, Y2    \
	VMOVDQU16 Y2, (DI)      \
	NEXT

// ODD gives Z2 the sign in Z8, rounds it and stores it, full range.
#define ODD \
	VPXORD Z8, Z2, Z2      \
	VCVTPS2PH $0, Z2, Y2   \
	VPTESTMW Y14, Y2, K1   \ // no negative zero
	VMOVDQU16.Z Y2, K1, Y2 \
	VMOVDQU16 Y2, (DI)     \
	NEXT

// func evalAVX512(dst *float16.Float16, acc *float32, n int, t *Table, r *tableRow)
//
// Where a straight table is finite and the port narrows nothing, 16 finite inputs take half of
// the steps and those between the knots a quarter; others go the whole way. Behind an input
// beyond the knots the next ones are taken for such too, as a branch that is now and then
// mistaken costs more.
//
// Z31 scale, Z30 bias, Z29 what stands for NaN, Z28 the sign bit in the odd modes,
// K5 all set in them, Z27 1/step, Z26 base, Z25 32 - base, Z24 32, Z23 31, Z22 to Z19
// clamps and end values, Z18 to Z15 knots and rises, Y14 0x7fff, Y13 top, Y12
// infinity. Z0 v, Z8 the sign of the result.
TEXT ·evalAVX512(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ acc+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ t+24(FP), DX
	MOVQ r+32(FP), R8
	VBROADCASTSS tableRow_scale(R8), Z31
	VBROADCASTSS tableRow_bias(R8), Z30
	VBROADCASTSS tableRow_nan(R8), Z29
	VPBROADCASTW tableRow_top(R8), Y13
	VBROADCASTSS Table_unit(DX), Z27
	VBROADCASTSS Table_base(DX), Z26
	VBROADCASTSS consts<>+0(SB), Z24
	VPBROADCASTD consts<>+4(SB), Z23
	VSUBPS Z26, Z24, Z25
	VBROADCASTSS Table_clampLow(DX), Z22
	VBROADCASTSS Table_below(DX), Z21
	VBROADCASTSS Table_clampHigh(DX), Z20
	VBROADCASTSS Table_above(DX), Z19
	VMOVUPS (Table_knot+0)(DX), Z18
	VMOVUPS (Table_knot+64)(DX), Z17
	VMOVUPS (Table_rise+0)(DX), Z16
	VMOVUPS (Table_rise+64)(DX), Z15
	VPTERNLOGD $0xff, Z14, Z14, Z14
	VPSLLW $10, Y14, Y12
	VPSRLW $1, Y14, Y14
	VPANDD Y14, Y12, Y12
	VPXORD Z28, Z28, Z28
	VPXORD Z8, Z8, Z8
	KXORD  K5, K5, K5
	MOVWLZX Table_mode(DX), AX
	CMPL AX, $const_ModePlain
	JEQ  straight
	CMPL AX, $const_ModeNegative
	JEQ  straight
	MOVWLZX tableRow_top(R8), R9
	CMPL R9, $const_halfMax
	SETEQ R9 // inputs may take the short way
	VBROADCASTSS consts<>+28(SB), Z1
	VBROADCASTSS consts<>+20(SB), Z10
	VBROADCASTSS consts<>+16(SB), Z9
	CMPL AX, $const_ModeExponent
	JEQ  exponent
	VBROADCASTSS consts<>+8(SB), Z11
	CMPL AX, $const_ModeLog
	JEQ  log
	CMPL AX, $const_ModeSqrt
	JEQ  root
	CMPL AX, $const_ModeRsqrt
	JEQ  root
	VPTERNLOGD $0xff, Z28, Z28, Z28
	VPSLLD $31, Z28, Z28
	KXNORD K5, K5, K5
	CMPL AX, $const_ModeReciprocal
	JEQ  reciprocal

straight:
	VPXORD Z11, Z11, Z11
	VSUBPS Z26, Z11, Z11 // -base
	VBROADCASTSS Table_lowSlope(DX), Z5
	VBROADCASTSS Table_lowIntercept(DX), Z6
	VBROADCASTSS Table_highSlope(DX), Z7
	VBROADCASTSS Table_highIntercept(DX), Z9
	VBROADCASTSS consts<>+28(SB), Z10
	MOVWLZX tableRow_top(R8), AX
	CMPL AX, $const_halfMax
	SETEQ R9
	ANDB Table_finite(DX), R9 // inputs may take the short way
	JEQ  line
	KTESTD K5, K5
	JNE  odd

plain:
	SHORT(plainbeyond)
	INSIDE
	VCVTPS2PH $0, Z2, (DI)
	NEXT
	JNE  plain
	VZEROUPPER
	RET

plainbeyond:
	MOVQ $BEYOND, BX

plainfinite:
	FINITE(line)
	VCVTPS2PH $0, Z2, (DI)
	NEXT
	JEQ  done
	DECQ BX
	JNE  plainfinite
	JMP  plain

odd:
	SHORTODD(oddbeyond)
	INSIDE
	ODD
	JNE  odd
	VZEROUPPER
	RET

oddbeyond:
	MOVQ $BEYOND, BX

oddfinite:
	FINITE(line)
	ODD
	JEQ  done
	DECQ BX
	JNE  oddfinite
	JMP  odd

line:
	INPUT
	VPANDD Z28, Z0, Z8
	VPXORD Z8, Z0, Z0
	VMULPS Z27, Z0, Z1    // pos
	VADDPS Z26, Z1, Z2
	VPXORD Z3, Z3, Z3
	VMAXPS Z3, Z2, Z2
	VMINPS Z24, Z2, Z2
	LERP
	VMULPS Z5, Z0, Z3
	NAN0(Z3)
	VADDPS Z6, Z3, Z3
	VCMPPS $1, Z11, Z1, K2 // pos < -base
	VMOVAPS Z3, K2, Z2
	VMULPS Z7, Z0, Z3
	NAN0(Z3)
	VADDPS Z9, Z3, Z3
	VCMPPS $14, Z25, Z1, K2 // pos > 32 - base
	VMOVAPS Z3, K2, Z2
	NAN0(Z2)
	CLAMPS
	OUTPUT
	JEQ  done
	TESTB R9, R9
	JEQ  line
	KTESTD K5, K5
	JNE  odd
	JMP  plain

done:
	VZEROUPPER
	RET

exponent:
	VBROADCASTSS consts<>+32(SB), Z6
	VBROADCASTSS consts<>+36(SB), Z11
	TESTB R9, R9
	JEQ  exponentloop

exponents:
	POWERS(exponentbeyond)
	VCVTPS2PH $0, Z2, (DI)
	NEXT
	JNE  exponents
	VZEROUPPER
	RET

exponentbeyond:
	MOVQ $BEYOND, BX

exponentloop:
	AHEAD
	INPUT
	VRNDSCALEPS $9, Z0, Z5 // down
	VSUBPS Z5, Z0, Z2
	VMULPS Z27, Z2, Z2
	LERP
	SCALED
	CLAMPS
	OUTPUT
	JEQ  done
	TESTB R9, R9
	JEQ  exponentloop
	DECQ BX
	JNE  exponentloop
	JMP  exponents

root:
	// The exponent of rsqrt is negated by a multiply with -1.
	VMOVAPS Z11, Z25
	CMPL AX, $const_ModeSqrt
	JEQ  roots
	VPXORD Z25, Z25, Z25
	VSUBPS Z11, Z25, Z25

roots:
	VBROADCASTSS consts<>+12(SB), Z7
	VPXORD Z6, Z6, Z6
	TESTB R9, R9
	JEQ  rootloop

rootshort:
	ROOTS(rootbeyond)
	VCVTPS2PH $0, Z2, (DI)
	NEXT
	JNE  rootshort
	VZEROUPPER
	RET

rootbeyond:
	MOVQ $BEYOND, BX

rootloop:
	AHEAD
	INPUT
	VCMPPS $4, Z6, Z0, K3 // not 0
	VGETMANTPS $2, Z0, Z2
	VGETEXPPS Z0, Z5
	VADDPS Z11, Z5, Z5
	VMOVAPS.Z Z2, K3, Z2
	VMOVAPS.Z Z5, K3, Z5
	VMULPS Z7, Z5, Z4
	VRNDSCALEPS $9, Z4, Z4 // half the exponent
	VSUBPS Z4, Z5, Z5
	VSUBPS Z4, Z5, Z5      // 1 for an odd one
	VSCALEFPS Z5, Z2, Z2
	VMULPS Z25, Z4, Z5
	VMULPS Z27, Z2, Z2
	LERP
	SCALED
	CLAMPS
	VCMPPS $1, Z6, Z0, K1  // v < 0
	VMOVAPS Z6, K1, Z2
	OUTPUT
	JEQ  done
	TESTB R9, R9
	JEQ  rootloop
	DECQ BX
	JNE  rootloop
	JMP  rootshort

reciprocal:
	VPXORD Z6, Z6, Z6
	TESTB R9, R9
	JEQ  reciprocalloop

reciprocalshort:
	INVERSES(reciprocalbeyond)
	ODD
	JNE  reciprocalshort
	VZEROUPPER
	RET

reciprocalbeyond:
	MOVQ $BEYOND, BX

reciprocalloop:
	AHEAD
	INPUT
	VCMPPS $4, Z6, Z0, K3 // not 0
	VPANDD.Z Z28, Z0, K3, Z8
	VPXORD Z8, Z0, Z0
	VGETMANTPS $2, Z0, Z2
	VGETEXPPS Z0, Z5
	VADDPS Z11, Z5, Z5
	VSUBPS Z5, Z6, Z5
	VMULPS Z27, Z2, Z2
	VADDPS Z26, Z2, Z2
	LERP
	SCALED
	VCMPPS $0, Z6, Z0, K1
	VMOVAPS Z21, K1, Z2
	CLAMPS
	OUTPUT
	JEQ  done
	TESTB R9, R9
	JEQ  reciprocalloop
	DECQ BX
	JNE  reciprocalloop
	JMP  reciprocalshort

log:
	VPXORD Z6, Z6, Z6
	TESTB R9, R9
	JEQ  logloop

logshort:
	LOGS(logbeyond)
	VCVTPS2PH $0, Z2, (DI)
	NEXT
	JNE  logshort
	VZEROUPPER
	RET

logbeyond:
	MOVQ $BEYOND, BX

logloop:
	AHEAD
	INPUT
	VGETMANTPS $2, Z0, Z2
	VGETEXPPS Z0, Z5
	VADDPS Z11, Z5, Z5
	VMULPS Z27, Z2, Z2
	VADDPS Z26, Z2, Z2
	LERP
	VADDPS Z5, Z2, Z2
	NAN0(Z2)
	VCMPPS $0, Z6, Z0, K1
	VMOVAPS Z21, K1, Z2
	CLAMPS
	VCMPPS $1, Z6, Z0, K1 // v < 0
	VMOVAPS Z6, K1, Z2
	OUTPUT
	JEQ  done
	TESTB R9, R9
	JEQ  logloop
	DECQ BX
	JNE  logloop
	JMP  logshort
