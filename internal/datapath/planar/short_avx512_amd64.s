//go:build !purego

#include "go_asm.h"
#include "textflag.h"
#include "round_amd64.h"
#include "sixteen_avx512_amd64.h"

// The stages of a short plan, which are one operation, a finite Scale and a ReLU, sixteen
// elements at a time in float32. Products with the scale are cut off, with their lowest bit
// set where bits were lost, which is rounding to odd: the rounding to 11 bits is then as if once.
//
// Z15 +0, Z14 and Z6 what source 2 and the result are at least: 0 behind a ReLU, else -Inf,
// Z13 and Z12 signs of the sources, Z11 Scale, Z10 a table of VFIXUPIMM for NaN to +Inf, Z9
// one for NaN to +0, Z8 2<<19, Z7 -0xffe, Z16 the lowest bit, Z17, Z18 and Z19 constants of the rounding.

// AT_LEAST is 0 where a flag of the plan is set, else -Inf.
#define AT_LEAST(FLAG, Z) \
	MOVBLZX FLAG(R8), AX \
	DECL AX              \
	ANDL BX, AX          \
	VPBROADCASTD AX, Z

#define SETUP \
	MOVQ dst+0(FP), DI                           \
	MOVQ a+8(FP), SI                             \
	MOVQ n+24(FP), CX                            \
	MOVQ p+32(FP), R8                            \
	VPXORD Z15, Z15, Z15                         \
	VPBROADCASTD (plan_masks+masks_flip1)(R8), Z13 \
	VPBROADCASTD (plan_masks+masks_flip2)(R8), Z12 \
	VCVTSD2SS plan_scale(R8), X15, X11           \
	VBROADCASTSS X11, Z11                        \
	MOVL $0xff800000, BX                         \
	AT_LEAST(plan_relu2, Z14)                       \
	AT_LEAST(plan_relu, Z6)                         \
	MOVL $0x55, AX                               \
	VPBROADCASTD AX, Z10                         \
	MOVL $0x88, AX                               \
	VPBROADCASTD AX, Z9                          \
	MOVL $0x100000, AX                           \
	VPBROADCASTD AX, Z8                          \
	MOVL $-0xffe, AX                             \
	VPBROADCASTD AX, Z7                          \
	MOVL $1, AX                                  \
	VPBROADCASTD AX, Z16                         \
	ROUND_CONSTANTS(X17, X18, X19, Z17, Z18, Z19) \
	KXNORW K1, K1, K1

// AHEAD asks for what is read 64 times later, as operands from memory take that long.
#define AHEAD(FROM) PREFETCHT0 2048(FROM)

// FIRST and SECOND read elements, a NaN as +Inf.
#define FIRST \
	AHEAD(SI)                    \
	AHEAD(DI)                    \
	VCVTPH2PS.Z (SI), K1, Z0     \
	VFIXUPIMMPS $0, Z10, Z0, Z0  \
	VPXORD Z13, Z0, Z0           \
	ADDQ $32, SI

#define SECOND \
	AHEAD(DX)                    \
	VCVTPH2PS.Z (DX), K1, Z1     \
	VFIXUPIMMPS $0, Z10, Z1, Z1  \
	VMAXPS Z14, Z1, Z1           \
	VPXORD Z12, Z1, Z1           \
	ADDQ $32, DX

// SUM leaves the sum cut off in Z2 and where it is not exact in K2.
#define SUM \
	VADDPS.RZ_SAE Z1, Z0, Z2    \
	VADDPS.RU_SAE Z1, Z0, Z3    \
	VADDPS.RD_SAE Z1, Z0, Z4    \
	VCMPPS $12, Z3, Z4, K2      \ // ordered and not equal
	VFIXUPIMMPS $0, Z9, Z2, Z2

// PRODUCT leaves Scale times Z2 cut off in Z4, 0 as +0, and where it is not exact in K3.
#define PRODUCT \
	VMOVAPS Z2, Z4                      \
	VFMADD213PS.RZ_SAE Z15, Z11, Z4     \
	VFMSUB213PS Z4, Z11, Z2             \ // what is lost, exact
	VCMPPS $12, Z15, Z2, K3

#define ODD VPORD Z16, Z4, K3, Z4

#define STORE \
	VMAXPS Z6, Z4, Z4             \
	VPADDD Z17, Z4, Z4            \
	VPANDD Z18, Z4, Z4            \
	VMULPS Z19, Z4, Z4            \
	VCVTPS2PH $0, Z4, K1, (DI)    \
	ADDQ $32, DI                  \
	SUBQ $16, CX

// UNEVEN is for sums that are not exact. Such a sum is at least 1 in magnitude, and Scale is a
// normal number, so that the product is normal in fp16 too and its low 13 bits decide the
// rounding. What was cut off makes the true product larger than Z4 by less than three units of
// the lowest bit: from 0xffe and 0xfff it may lie on either side of the tie at 0x1000.
#define UNEVEN(STOP) \
	VPADDD Z7, Z4, Z3          \
	VPSLLD $19, Z3, Z3         \
	VPCMPUD $1, Z8, Z3, K2, K4 \
	KORTESTW K4, K4            \
	JNE  STOP                  \
	KORW K2, K3, K3

// DONE returns how many elements are done, 16 at a time.
#define DONE \
	MOVQ n+24(FP), AX   \
	SUBQ CX, AX         \
	MOVQ AX, done+40(FP) \
	VZEROUPPER          \
	RET

#define BOTH \
	FIRST  \
	SECOND

// SUMS goes over sums of what READ leaves in Z0 and Z1.
#define SUMS(READ) \
next:                \
	MASK             \
	READ             \
	SUM              \
	PRODUCT          \
	KORTESTW K2, K2  \
	JNE  uneven      \
odd:                 \
	ODD              \
	STORE            \
	JGT  next        \
	XORL CX, CX      \
	DONE             \
uneven:              \
	UNEVEN(stop)     \
	JMP  odd         \
stop:                \
	DONE

// EXTREMES goes over what EXTREME leaves of both in Z4, whose product is exact.
#define EXTREMES(EXTREME) \
next:                         \
	MASK                      \
	BOTH                      \
	EXTREME Z1, Z0, Z4        \
	VFMADD213PS Z15, Z11, Z4  \
	STORE                     \
	JGT  next                 \
	XORL CX, CX               \
	DONE

// func applyShortSumAVX512(dst, a, b *float16.Float16, n int, p *plan) (done int)
TEXT ·applyShortSumAVX512(SB), NOSPLIT, $0-48
	MOVQ b+16(FP), DX
	SETUP
	SUMS(BOTH)

// func applyShortSingleAVX512(dst, a, b *float16.Float16, n int, p *plan) (done int)
//
// One source and Bias; b is not read.
TEXT ·applyShortSingleAVX512(SB), NOSPLIT, $0-48
	SETUP
	VCVTSD2SS plan_bias(R8), X15, X1
	VBROADCASTSS X1, Z1
	SUMS(FIRST)

// func applyShortProductAVX512(dst, a, b *float16.Float16, n int, p *plan) (done int)
TEXT ·applyShortProductAVX512(SB), NOSPLIT, $0-48
	MOVQ b+16(FP), DX
	SETUP

next:
	MASK
	BOTH
	VMULPS Z1, Z0, Z2
	VFIXUPIMMPS $0, Z9, Z2, Z2
	PRODUCT
	ODD
	STORE
	JGT  next
	XORL CX, CX
	DONE

// func applyShortMaxAVX512(dst, a, b *float16.Float16, n int, p *plan) (done int)
TEXT ·applyShortMaxAVX512(SB), NOSPLIT, $0-48
	MOVQ b+16(FP), DX
	SETUP
	EXTREMES(VMAXPS)

// func applyShortMinAVX512(dst, a, b *float16.Float16, n int, p *plan) (done int)
TEXT ·applyShortMinAVX512(SB), NOSPLIT, $0-48
	MOVQ b+16(FP), DX
	SETUP
	EXTREMES(VMINPS)

// func applyShortScaleAVX512(dst, a, b *float16.Float16, n int, p *plan)
//
// One source without Bias, whose product is exact; b is not read.
TEXT ·applyShortScaleAVX512(SB), NOSPLIT, $0-40
	SETUP

next:
	MASK
	FIRST
	VFMADD213PS Z15, Z11, Z0
	VMOVAPS Z0, Z4
	STORE
	JGT  next
	VZEROUPPER
	RET
