package mac

// A level is one implementation of the hot loops: reduction, widening and narrowing. All levels give
// the same bits.
type level uint8

const (
	portable level = iota
	avx2           // AVX2, FMA and F16C
	avx512         // AVX-512 F, BW, DQ, VL
	neon           // arm64 ASIMD
)

func (l level) String() string {
	return [...]string{"portable", "avx2", "avx512", "neon"}[l]
}

// active is the level that this machine uses: the last one that it supports.
var active = supportedLevels()[len(supportedLevels())-1]
