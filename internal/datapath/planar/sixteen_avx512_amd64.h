// What the loops of sixteen elements at a time share.

// MASK leaves out what is behind the last element.
#define MASK \
	CMPQ CX, $16     \
	JGE  whole       \
	MOVL $0xffff, AX \
	BZHIL CX, AX, AX \
	KMOVW AX, K1     \
whole:

// Kinds of VRANGEPS. Of two zeros it takes +0 for the larger one, as max of Go does.
#define LEAST 4
#define LARGEST 5

// NUMBERS leaves a table of VFIXUPIMM for NaN to +Inf in Z14 and all lanes in K1.
#define NUMBERS \
	MOVL $0x55, AX       \
	VPBROADCASTD AX, Z14 \
	KXNORW K1, K1, K1

// STRIDES leaves three, five and seven times the stride in R8 in R9, R10 and R11.
#define STRIDES \
	LEAQ (R8)(R8*2), R9  \
	LEAQ (R8)(R8*4), R10 \
	LEAQ (R9)(R8*4), R11
