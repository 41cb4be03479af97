//go:build !purego

#include "go_asm.h"
#include "textflag.h"

// The stages of a plan eight elements at a time, the last ones masked, in float64 like
// the Go code: every operation is one of its operations, a NaN becoming +0 after each.
//
// Z15 +0, Z14 and Z13 signs of the sources, Z12 Bias, Z11 Scale, Z10 FinalScale, Z9
// Epsilon, Z8 PreScale, Z7 and Z6 what the result and source 2 are at least: 0 behind a
// ReLU, else -Inf, Z5 the magnitude bits or all, Y4 and Z3 tables of VFIXUPIMM for NaN to
// +Inf and to +0, Z17 half a unit and Z16 the mask of 11 significant bits of a float64, Y2
// 1 + 2^-12.

#define SETTLE(X) VFIXUPIMMPD $0, Z3, X, X

// SOURCE reads elements, a NaN as +Inf.
#define SOURCE(FROM, HALF, WHOLE) \
	VCVTPH2PS.Z FROM, K1, HALF     \
	VFIXUPIMMPS $0, Y4, HALF, HALF \
	VCVTPS2PD HALF, WHOLE

// LEAST is 0 where a flag of the plan is set, else -Inf.
#define LEAST(FLAG, Z) \
	MOVBQZX FLAG(R8), AX \
	DECQ AX              \
	ANDQ BX, AX          \
	VPBROADCASTQ AX, Z

#define PLAN \
	MOVQ n+24(FP), CX                  \
	MOVQ p+32(FP), R8                  \
	VPXORQ Z15, Z15, Z15               \
	VBROADCASTSD plan_flip1(R8), Z14   \
	VBROADCASTSD plan_flip2(R8), Z13   \
	VBROADCASTSD plan_bias(R8), Z12    \
	VBROADCASTSD plan_scale(R8), Z11   \
	VBROADCASTSD plan_final(R8), Z10   \
	VBROADCASTSD plan_epsilon(R8), Z9  \
	VBROADCASTSD plan_preScale(R8), Z8 \
	MOVQ $0xfff0000000000000, BX       \
	LEAST(plan_relu, Z7)               \
	LEAST(plan_relu2, Z6)              \
	MOVQ $-1, AX                       \
	MOVBQZX plan_post(R8), BX          \
	CMPQ BX, $const_PostAbs            \
	JNE  ready                         \
	SHRQ $1, AX                        \
ready:                                 \
	VPBROADCASTQ AX, Z5                \
	MOVL $0x55, AX                     \
	VPBROADCASTD AX, Y4                \
	MOVQ $0x88, AX                     \
	VPBROADCASTQ AX, Z3                \
	MOVQ $0x20000000000, AX            \
	VPBROADCASTQ AX, Z17               \
	NEGQ AX                            \
	ADDQ AX, AX                        \
	VPBROADCASTQ AX, Z16               \
	MOVL $0x3f800800, AX               \
	VPBROADCASTD AX, Y2                \
	KXNORW K1, K1, K1                  \
	MOVBQZX plan_op(R8), R9            \
	MOVBQZX plan_finite(R8), R10       \
	MOVBQZX plan_tailless(R8), R11     \
	MOVBQZX plan_straight(R8), R12     \
	MOVBQZX plan_unbiased(R8), R13

// MASK leaves out what is behind the last element.
#define MASK \
	CMPQ CX, $8      \
	JGE  whole       \
	MOVL $0xff, AX   \
	BZHIL CX, AX, AX \
	KMOVW AX, K1     \
whole:

// REST is everything after the operation: the other stages and narrowFloat64, as round_amd64.h
// describes it, with integers of 64 bits. Of a finite plan the stages are two that no NaN comes of.
#define REST \
	CMPQ R13, $0                  \
	JNE  finite                   \ // 0 is added behind the scale
	VADDPD Z12, Z0, Z0            \
	CMPQ R10, $0                  \
	JNE  finite                   \
	SETTLE(Z0)                    \
	VMULPD Z11, Z0, Z0            \
	SETTLE(Z0)                    \
	CMPQ R11, $0                  \
	JNE  narrow                   \
	VMULPD Z10, Z0, Z0            \
	SETTLE(Z0)                    \
	VADDPD Z9, Z0, Z0             \
	SETTLE(Z0)                    \
	VMULPD Z8, Z0, Z0             \
	SETTLE(Z0)                    \
	VPANDQ Z5, Z0, Z0             \
	JMP  least                    \
finite:                           \
	VFMADD213PD Z15, Z11, Z0      \
	JMP  least                    \
narrow:                           \
	VADDPD Z15, Z0, Z0            \ // -0
least:                            \
	VMAXPD Z7, Z0, Z0             \
	VPADDQ Z17, Z0, Z0            \
	VPANDQ Z16, Z0, Z0            \
	VCVTPD2PS Z0, Y0              \
	VMULPS Y2, Y0, Y0             \
	VCVTPS2PH $0, Y0, K1, (DI)    \
	ADDQ $16, DI                  \
	ADDQ $16, SI                  \
	SUBQ $8, CX

// func applyScaledAVX512(dst, a, b *float16.Float16, n int, p *plan)
TEXT ·applyScaledAVX512(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ a+8(FP), SI
	MOVQ b+16(FP), DX
	PLAN

next:
	MASK
	SOURCE((SI), Y0, Z0)
	SOURCE((DX), Y1, Z1)
	ADDQ $16, DX
	CMPQ R12, $0
	JNE  meet
	VMAXPD Z1, Z6, Z1 // -0 stays
	VMULPD Z14, Z0, Z0
	VMULPD Z13, Z1, Z1

meet:
	CMPQ R9, $const_Add
	JEQ  add
	CMPQ R9, $const_Mul
	JEQ  mul
	CMPQ R9, $const_Max
	JEQ  max
	CMPQ R9, $const_Min
	JEQ  min
	VADDPD Z1, Z0, Z0
	SETTLE(Z0)
	VMULPD Z0, Z0, Z0
	JMP  rest

add:
	VADDPD Z1, Z0, Z0
	SETTLE(Z0)
	JMP  rest

mul:
	VMULPD Z1, Z0, Z0
	SETTLE(Z0)
	JMP  rest

max:
	VMAXPD Z0, Z1, Z0 // y where it is above x
	JMP  rest

min:
	VMINPD Z0, Z1, Z0 // y where it is below x

rest:
	REST
	JGT  next
	VZEROUPPER
	RET

// func applySingleAVX512(dst, a, b *float16.Float16, n int, p *plan)
TEXT ·applySingleAVX512(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ a+8(FP), SI
	PLAN

next:
	MASK
	SOURCE((SI), Y0, Z0)
	VMULPD Z14, Z0, Z0
	CMPQ R9, $const_SumSquare
	JNE  rest
	VMULPD Z0, Z0, Z0

rest:
	REST
	JGT  next
	VZEROUPPER
	RET
