// Rounding to fp16 as narrowToHalf does it, before a conversion that rounds to even: first to 11
// significant bits, ties away from zero, by integers. Then the value, which has no more than 11 bits,
// is moved outward by 2^-12 of itself. That is less than half a unit of a normal fp16 value, which the
// conversion therefore restores, and it decides the ties among denormal ones.

// ROUND_CONSTANTS leaves half a unit and the mask of 11 significant bits of a float32 in H and M, and
// 1 + 2^-12 in O. HX, MX and OX are the lowest parts of these vectors.
#define ROUND_CONSTANTS(HX, MX, OX, H, M, O) \
	MOVL $0x1000, AX     \
	VMOVD AX, HX         \
	VPBROADCASTD HX, H   \
	MOVL $0xffffe000, AX \
	VMOVD AX, MX         \
	VPBROADCASTD MX, M   \
	MOVL $0x3f800800, AX \
	VMOVD AX, OX         \
	VPBROADCASTD OX, O
