package mac

// level names one implementation of the hot loops: Reduce, Widen and the narrow
// of Post.Apply. All of them give the same bits.
type level uint8

const (
	portable level = iota
	avx2           // AVX2 and F16C
	avx512         // AVX-512 F, BW, DQ, VL
	neon           // arm64 ASIMD
)

func (l level) String() string {
	return [...]string{"portable", "avx2", "avx512", "neon"}[l]
}

// active is what this machine runs: the last of the levels it has.
var active = levels()[len(levels())-1]
