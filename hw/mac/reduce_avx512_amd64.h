// One step of the tile adder, without exponent arithmetic. With m the operand of
// larger magnitude, n the other, and c = 2^e with the sign of n,
//
//	g = 1.5*2^12*c + cut(m)     exact: its unit in the last place is 2^(e-11)
//	h = g + n, toward zero      so n loses its bits below 2^(e-11), toward zero
//	s = h - 1.5*2^12*c          exact
//
// gives cut(m) + cut(n). 1.5 keeps g and h in one binade whatever the sign of m.
// An infinite m makes g or s NaN, which every later step and join keeps.

DATA signs<>+0(SB)/4, $0x80000000
GLOBL signs<>(SB), RODATA|NOPTR, $4
DATA exponents<>+0(SB)/4, $0x7f800000
GLOBL exponents<>(SB), RODATA|NOPTR, $4
DATA twelve<>+0(SB)/4, $0xfffff000 // sign, exponent, 12 significant bits
GLOBL twelve<>(SB), RODATA|NOPTR, $4
DATA lift<>+0(SB)/4, $0x45c00000 // 1.5 * 2^12
GLOBL lift<>(SB), RODATA|NOPTR, $4

#define CONSTANTS \
	VPBROADCASTD signs<>(SB), Z31     \
	VPBROADCASTD exponents<>(SB), Z30 \
	VPBROADCASTD twelve<>(SB), Z29    \
	VPBROADCASTD lift<>(SB), Z28

#define ABSMAX 7       // VRANGEPS: the operand of larger magnitude, with its sign
#define MAXOFABS 11    // VRANGEPS: the larger magnitude, positive
#define XOR3 $0x96     // VPTERNLOGD: a ^ b ^ c
#define ORAND $0xf8    // VPTERNLOGD: a | b&c

// ADD: S = tile adder of S and P, by way of M and C.
#define ADD(S, P, M, C) \
	VRANGEPS    $ABSMAX, P, S, M \
	VPTERNLOGD  XOR3, M, P, S    \ // S = n
	VPANDD      Z30, M, C        \
	VPTERNLOGD  ORAND, Z31, S, C \
	VPANDD      Z29, M, M        \
	VFMADD231PS Z28, C, M        \
	VADDPS.RZ_SAE S, M, S        \
	VFNMADD231PS Z28, C, S

#define ADD4 \
	VRANGEPS    $ABSMAX, Z12, Z0, Z16 \
	VRANGEPS    $ABSMAX, Z13, Z1, Z17 \
	VRANGEPS    $ABSMAX, Z14, Z2, Z18 \
	VRANGEPS    $ABSMAX, Z15, Z3, Z19 \
	VPTERNLOGD  XOR3, Z16, Z12, Z0    \
	VPTERNLOGD  XOR3, Z17, Z13, Z1    \
	VPTERNLOGD  XOR3, Z18, Z14, Z2    \
	VPTERNLOGD  XOR3, Z19, Z15, Z3    \
	VPANDD      Z30, Z16, Z20         \
	VPANDD      Z30, Z17, Z21         \
	VPANDD      Z30, Z18, Z22         \
	VPANDD      Z30, Z19, Z23         \
	VPANDD      Z29, Z16, Z16         \
	VPANDD      Z29, Z17, Z17         \
	VPANDD      Z29, Z18, Z18         \
	VPANDD      Z29, Z19, Z19         \
	VPTERNLOGD  ORAND, Z31, Z0, Z20   \
	VPTERNLOGD  ORAND, Z31, Z1, Z21   \
	VPTERNLOGD  ORAND, Z31, Z2, Z22   \
	VPTERNLOGD  ORAND, Z31, Z3, Z23   \
	VFMADD231PS Z28, Z20, Z16         \
	VFMADD231PS Z28, Z21, Z17         \
	VFMADD231PS Z28, Z22, Z18         \
	VFMADD231PS Z28, Z23, Z19         \
	VADDPS.RZ_SAE Z0, Z16, Z0         \
	VADDPS.RZ_SAE Z1, Z17, Z1         \
	VADDPS.RZ_SAE Z2, Z18, Z2         \
	VADDPS.RZ_SAE Z3, Z19, Z3         \
	VFNMADD231PS Z28, Z20, Z0         \
	VFNMADD231PS Z28, Z21, Z1         \
	VFNMADD231PS Z28, Z22, Z2         \
	VFNMADD231PS Z28, Z23, Z3

// LOAD4 takes the products of tap I of the tile and moves to the next row.
#define LOAD4(I, P0, P1, P2, P3) \
	VBROADCASTSS (4*I)(DX), Z24 \
	VMULPS (SI), Z24, P0        \
	VMULPS 64(SI), Z24, P1      \
	VMULPS 128(SI), Z24, P2     \
	VMULPS 192(SI), Z24, P3     \
	PREFETCHT0 (SI)(R9*1) \
	PREFETCHT0 64(SI)(R9*1) \
	PREFETCHT0 128(SI)(R9*1) \
	PREFETCHT0 192(SI)(R9*1) \
	ADDQ   R8, SI

#define JOIN4 \
	VADDPS   Z0, Z4, Z4            \
	VADDPS   Z1, Z5, Z5            \
	VADDPS   Z2, Z6, Z6            \
	VADDPS   Z3, Z7, Z7            \
	VRANGEPS $MAXOFABS, Z4, Z8, Z8   \
	VRANGEPS $MAXOFABS, Z5, Z9, Z9   \
	VRANGEPS $MAXOFABS, Z6, Z10, Z10 \
	VRANGEPS $MAXOFABS, Z7, Z11, Z11

// VERDICT sets the flag when a magnitude is not below the limit in Z24 or an
// accumulator is NaN. VRANGEPS passes over NaN, so the accumulators themselves
// have to tell.
#define VERDICT(FLAG) \
	VMAXPS Z8, Z9, Z8      \
	VMAXPS Z10, Z11, Z10   \
	VMAXPS Z8, Z10, Z8     \
	VCMPPS $5, Z24, Z8, K1 \ // not less
	VCMPPS $3, Z4, Z5, K2  \ // unordered
	VCMPPS $3, Z6, Z7, K3  \
	KORW   K1, K2, K1      \
	KORTESTW K1, K3        \
	SETNE  FLAG            \
	VZEROUPPER             \
	RET
