// What the kernels of the reduction share; see reduce_avx2_amd64.s.

// BLOCK loads the fields of a block. R8 to R11 are the vectors, R13 counts taps.
#define BLOCK \
	MOVQ b+0(FP), DI   \
	MOVQ 32(DI), R8    \
	MOVQ 40(DI), R9    \
	MOVQ 48(DI), R10   \
	MOVQ 56(DI), R11   \
	MOVQ 64(DI), SI    \
	MOVQ 72(DI), DX    \
	MOVQ 80(DI), CX    \
	MOVQ 88(DI), BX    \
	XORL R13, R13

// CHUNK sets R12 to the number of taps until the next flush and takes them from CX.
#define CHUNK \
	MOVQ BX, R12      \
	CMPQ CX, R12      \
	CMOVQLT CX, R12   \
	SUBQ R12, CX

// ROWS loads the fields of a rowBlock.
#define ROWS \
	MOVQ b+0(FP), DX  \
	MOVQ (DX), DI     \
	MOVQ 8(DX), R8    \
	MOVQ 16(DX), SI   \
	MOVQ 24(DX), R9   \
	MOVQ 32(DX), CX   \
	MOVQ 40(DX), BX   \
	XORL R13, R13

// ROW sets AX to the operands of the current tap.
#define ROW \
	MOVQ (R9)(R13*8), AX \
	LEAQ (SI)(AX*4), AX
