//go:build !purego

package planar

import "testing"

// The loops of AVX2, on processors that have wider ones too.
func TestAVX2(t *testing.T) {
	if !wider {
		t.Skip("the processor has nothing wider than AVX2: the other tests are of its loops")
	}
	t.Run("plain", func(t *testing.T) { testPlain(t, plainAVX2) })
	t.Run("scaled", func(t *testing.T) { testScaled(t, scaledByFour, singleByFour) })
}
