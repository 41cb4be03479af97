package choose

import "testing"

// TestLayersByFileSize checks how many layers a file of a given size may become.
func TestLayersByFileSize(t *testing.T) {
	for size, want := range map[int]int{0: 24_576, 300: 24_594, 16_000: 25_576, 1 << 20: 65_536, 1 << 40: 65_536} {
		if got := NewShared(nil, size).maxLayers; got != want {
			t.Errorf("a file of %d bytes may become %d layers; want %d", size, got, want)
		}
	}
}
