//go:build !purego

#include "go_asm.h"
#include "textflag.h"

// The stages of a plan four elements at a time, in float64 like the Go code: every
// operation is one of its operations, a NaN becoming +0 after each.
//
// Y15 +0, Y14 and Y13 signs of the sources, Y12 Bias, Y11 Scale, Y10 FinalScale, Y9
// Epsilon, Y8 PreScale, Y7 what keeps a value that is not positive, Y6 what clears a
// negative source 2, Y5 the magnitude bits or all, Y4 half a unit and Y3 the mask of 11 significant
// bits of a float64.

DATA infinities<>+0(SB)/8, $0x7f8000007f800000
DATA infinities<>+8(SB)/8, $0x7f8000007f800000
GLOBL infinities<>(SB), RODATA|NOPTR, $16

DATA outward<>+0(SB)/8, $0x3f8008003f800800 // 1 + 2^-12
DATA outward<>+8(SB)/8, $0x3f8008003f800800
GLOBL outward<>(SB), RODATA|NOPTR, $16

#define SETTLE(X) \
	VCMPPD $7, X, X, Y2 \ // ordered
	VANDPD Y2, X, X

// SOURCE reads four elements, a NaN as +Inf.
#define SOURCE(FROM, X, Y) \
	VCVTPH2PS FROM, X                   \
	VCMPPS $3, X, X, X2                 \ // unordered
	VBLENDVPS X2, infinities<>(SB), X, X \
	VCVTPS2PD X, Y

#define PLAN \
	MOVQ n+24(FP), CX                       \
	MOVQ p+32(FP), R8                       \
	VXORPD Y15, Y15, Y15                    \
	VBROADCASTSD plan_flip1(R8), Y14        \
	VBROADCASTSD plan_flip2(R8), Y13        \
	VBROADCASTSD plan_bias(R8), Y12         \
	VBROADCASTSD plan_scale(R8), Y11        \
	VBROADCASTSD plan_final(R8), Y10        \
	VBROADCASTSD plan_epsilon(R8), Y9       \
	VBROADCASTSD plan_preScale(R8), Y8      \
	MOVBQZX plan_relu(R8), AX               \
	DECQ AX                                 \
	VMOVQ AX, X7                            \
	VPBROADCASTQ X7, Y7                     \
	MOVBQZX plan_relu2(R8), AX              \
	NEGQ AX                                 \
	VMOVQ AX, X6                            \
	VPBROADCASTQ X6, Y6                     \
	VPCMPEQD Y5, Y5, Y5                     \
	MOVBQZX plan_post(R8), AX               \
	CMPQ AX, $const_PostAbs                 \
	JNE  ready                              \
	VPSRLQ $1, Y5, Y5                       \
ready:                                      \
	VPCMPEQD Y3, Y3, Y3                     \
	VPSRLQ $63, Y3, Y4                      \
	VPSLLQ $41, Y4, Y4                      \
	VPSLLQ $42, Y3, Y3                      \
	MOVBQZX plan_op(R8), R9                 \
	XORQ AX, AX

// REST is everything after the operation: the other stages and narrowFloat64, as round_amd64.h
// describes it, with integers of 64 bits.
#define REST \
	VADDPD Y12, Y0, Y0            \
	SETTLE(Y0)                    \
	VMULPD Y11, Y0, Y0            \
	SETTLE(Y0)                    \
	VMULPD Y10, Y0, Y0            \
	SETTLE(Y0)                    \
	VADDPD Y9, Y0, Y0             \
	SETTLE(Y0)                    \
	VMULPD Y8, Y0, Y0             \
	SETTLE(Y0)                    \
	VANDPD Y5, Y0, Y0             \
	VCMPPD $14, Y15, Y0, Y2       \ // above 0
	VORPD  Y7, Y2, Y2             \
	VANDPD Y2, Y0, Y0             \
	VPADDQ Y4, Y0, Y0             \
	VPAND  Y3, Y0, Y0             \
	VCVTPD2PSY Y0, X1             \
	VMULPS outward<>(SB), X1, X1  \
	VCVTPS2PH $0, X1, X1          \
	VMOVQ  X1, (DI)(AX*2)         \
	ADDQ $4, AX                   \
	CMPQ AX, CX

// func applyScaledAVX2(dst, a, b *float16.Float16, n int, p *plan)
TEXT ·applyScaledAVX2(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ a+8(FP), SI
	MOVQ b+16(FP), DX
	PLAN

next:
	SOURCE((SI)(AX*2), X0, Y0)
	VMULPD Y14, Y0, Y0
	SOURCE((DX)(AX*2), X1, Y1)
	VCMPPD $1, Y15, Y1, Y2 // below 0
	VANDPD Y6, Y2, Y2
	VANDNPD Y1, Y2, Y1
	VMULPD Y13, Y1, Y1
	CMPQ R9, $const_Add
	JEQ  add
	CMPQ R9, $const_Mul
	JEQ  mul
	CMPQ R9, $const_Max
	JEQ  max
	CMPQ R9, $const_Min
	JEQ  min
	VADDPD Y1, Y0, Y0
	SETTLE(Y0)
	VMULPD Y0, Y0, Y0
	JMP  rest

add:
	VADDPD Y1, Y0, Y0
	SETTLE(Y0)
	JMP  rest

mul:
	VMULPD Y1, Y0, Y0
	SETTLE(Y0)
	JMP  rest

max:
	VCMPPD $14, Y0, Y1, Y2 // y > x
	VBLENDVPD Y2, Y1, Y0, Y0
	JMP  rest

min:
	VCMPPD $1, Y0, Y1, Y2 // y < x
	VBLENDVPD Y2, Y1, Y0, Y0

rest:
	REST
	JLT  next
	VZEROUPPER
	RET

// func applySingleAVX2(dst, a, b *float16.Float16, n int, p *plan)
TEXT ·applySingleAVX2(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ a+8(FP), SI
	PLAN

next:
	SOURCE((SI)(AX*2), X0, Y0)
	VMULPD Y14, Y0, Y0
	CMPQ R9, $const_SumSquare
	JNE  rest
	VMULPD Y0, Y0, Y0

rest:
	REST
	JLT  next
	VZEROUPPER
	RET
