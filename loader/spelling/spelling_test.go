package spelling

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	names := []string{"conv", "matmul", "max", "relu", "sigmoid", "softmax"}
	for name, want := range map[string]string{
		"CONV": "conv", "convolution": "conv", "cnov": "conv", "matmull": "matmul", "softmx": "softmax", "sig": "sigmoid", "zzz": "", "": "", "mx": "max",
	} {
		if got := strings.Join(Nearest(name, names), " "); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
