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
