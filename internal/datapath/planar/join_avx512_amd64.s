//go:build !purego

#include "textflag.h"
#include "sixteen_avx512_amd64.h"

// The terms of a reduction that are elements as they are: one run by itself.

// RUN joins the 16 accumulators at DI, which are of one run, with all n elements at SI.
#define RUN(KIND) \
	MOVQ acc+0(FP), DI                \
	MOVQ a+8(FP), SI                  \
	MOVQ n+16(FP), CX                 \
	NUMBERS                           \
	VMOVUPS (DI), Z2                  \
	VMOVAPS Z2, Z3                    \
	CMPQ CX, $32                      \
	JLT  next                         \
pair:                                 \
	PREFETCHT0 4096(SI)               \
	VCVTPH2PS (SI), Z0                \
	VCVTPH2PS 32(SI), Z1              \
	VFIXUPIMMPS $0, Z14, Z0, Z0       \
	VFIXUPIMMPS $0, Z14, Z1, Z1       \
	VRANGEPS $KIND, Z0, Z2, Z2        \
	VRANGEPS $KIND, Z1, Z3, Z3        \
	ADDQ $64, SI                      \
	SUBQ $32, CX                      \
	CMPQ CX, $32                      \
	JGE  pair                         \
	CMPQ CX, $0                       \
	JEQ  done                         \
next:                                 \
	MASK                              \
	VCVTPH2PS.Z (SI), K1, Z0          \
	VFIXUPIMMPS $0, Z14, Z0, Z0       \
	VRANGEPS $KIND, Z0, Z2, K1, Z2    \
	ADDQ $32, SI                      \
	SUBQ $16, CX                      \
	JGT  next                         \
done:                                 \
	VRANGEPS $KIND, Z3, Z2, Z2        \
	VMOVUPS Z2, (DI)                  \
	VZEROUPPER                        \
	RET

// func minOfRunAVX512(acc *float32, a *float16.Float16, n int)
TEXT ·minOfRunAVX512(SB), NOSPLIT, $0-24
	RUN(LEAST)

// func maxOfRunAVX512(acc *float32, a *float16.Float16, n int)
TEXT ·maxOfRunAVX512(SB), NOSPLIT, $0-24
	RUN(LARGEST)
