package numpy

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"testing"
)

func ExampleNew() {
	g := New(0)
	fmt.Println(g.Normal(), g.Normal(), g.Normal())
	// Output: 0.1257302210933933 -0.1321048632913019 0.6404226504432821
}

// TestUint64 compares random bits with default_rng(seed).bit_generator.random_raw() of numpy 1.24.2.
func TestUint64(t *testing.T) {
	g := New(0)
	for i, want := range []uint64{11749869230777074271, 4976686463289251617, 755828109848996024, 304881062738325533} {
		if got := g.Uint64(); got != want {
			t.Errorf("number %d is %d; want %d", i, got, want)
		}
	}
}

// TestNormal compares the first numbers of several seeds, one of them with more than 32 bits, with
// default_rng(seed).standard_normal(3) of numpy 1.24.2.
func TestNormal(t *testing.T) {
	for seed, want := range map[uint64][3]float64{
		1:         {0.345584192064786, 0.8216181435011584, 0.33043707618338714},
		2:         {0.18905338179353307, -0.5227484414807474, -0.41306354339189344},
		8:         {-1.738266398496882, -1.3366427931811324, -1.361106708564987},
		11:        {0.03419276725318417, 1.3597475403099617, 1.2247210785859324},
		1<<40 + 5: {-0.09818552148928854, -0.6994306412054528, 1.0290864089932255},
	} {
		g := New(seed)
		if got := [3]float64{g.Normal(), g.Normal(), g.Normal()}; got != want {
			t.Errorf("seed %d gives %v; want %v", seed, got, want)
		}
	}
}

// TestNormals32 compares the CRC-32 of many numbers as little-endian float32 values with
// zlib.crc32(default_rng(seed).standard_normal(n).astype(float32)) of numpy 1.24.2. They contain
// every layer, its border and some 300 numbers of the tail. LONG=1 has as many as the largest
// published product of matrices.
func TestNormals32(t *testing.T) {
	for _, c := range []struct {
		seed uint64
		n    int
		want uint32
	}{{0, 1 << 20, 0xc6e43ad2}, {1, 1 << 20, 0xfcc0381b}, {11, 1 << 20, 0x16c47923}, {0, 2 * 6144 * 6144, 0xaa71f846}} {
		if c.n > 1<<20 && os.Getenv("LONG") == "" {
			continue
		}
		var got uint32
		var b [4]byte
		for _, v := range New(c.seed).Normals32(c.n) {
			binary.LittleEndian.PutUint32(b[:], math.Float32bits(v))
			got = crc32.Update(got, crc32.IEEETable, b[:])
		}
		if got != c.want {
			t.Errorf("%d numbers of seed %d have the CRC %#08x; want %#08x", c.n, c.seed, got, c.want)
		}
	}
}
