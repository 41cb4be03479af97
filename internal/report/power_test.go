package report_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"anesim"
	"anesim/firmware"
	"anesim/internal/report"
)

// L2 that a run's power spans say is filled is that of the registers as they run, with
// what the options set.
func TestOccupancyFollowsOverrides(t *testing.T) {
	bytes := func(set ...string) int {
		t.Helper()
		m, err := anesim.Layer("relu", "c=16", "h=4", "w=32")
		if err != nil {
			t.Fatal(err)
		}
		var o anesim.Options
		for _, s := range set {
			x, err := firmware.ParseOverride(s)
			if err != nil {
				t.Fatal(err)
			}
			o.Overrides = append(o.Overrides, firmware.Override(x))
		}
		res, err := m.Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range report.NewRun(res).Power {
			if s.Bound != "" {
				return s.L2Bytes
			}
		}
		t.Fatal("no descriptor")
		return 0
	}
	const tensor = 2 * 16 * 4 * 32
	own := bytes()
	if own < tensor || own > 3*tensor {
		t.Errorf("%d bytes of a tensor of %d that comes and goes", own, tensor)
	}
	if wide := bytes("L2.ResultRowStride.Value=64"); wide <= own {
		t.Errorf("results with rows further apart take %d bytes, as they are %d", wide, own)
	}
}

// A layer takes the same of L2 by itself and as the only one of a network.
func TestOccupancyOfOneLayer(t *testing.T) {
	for _, tc := range []struct{ shape, words string }{
		{"c=64 h=28 w=28", "conv cout=64 k=3 pad=1"}, {"c=256 h=56 w=56", "conv cout=256 k=3 pad=1"},
		{"c=64 h=14 w=14", "deconv cout=64 k=2 stride=2"}, {"c=128 h=32 w=32", "softmax"}, {"c=1 h=64 w=768", "layernorm"},
		{"c=64 h=56 w=56", "relu"}, {"c=16 h=64 w=64", "transpose"},
	} {
		op, keys, _ := strings.Cut(tc.words, " ")
		first := tc.shape
		if strings.HasSuffix(op, "conv") {
			first = strings.Replace(first, "c=", "cin=", 1)
		}
		alone, err := anesim.Layer(op, append(strings.Fields(first), strings.Fields(keys)...)...)
		if err != nil {
			t.Fatal(err)
		}
		yaml := strings.NewReplacer("=", ": ", " ", ", ")
		text := fmt.Sprintf("inputs: {x: {%s}}\nlayers:\n- {%s}\n", yaml.Replace(tc.shape), yaml.Replace("op="+strings.TrimSpace(op+" "+keys)))
		net, err := anesim.Read("one.yaml", strings.NewReader(text), int64(len(text)))
		if err != nil {
			t.Fatal(err)
		}
		bytes := func(m *anesim.Model) (list []int) {
			res, err := m.Run(t.Context(), anesim.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for i := range res.Programs {
				list = append(list, res.Programs[i].Occupancy()...)
			}
			return list
		}
		if a, b := bytes(alone), bytes(net); len(a) == 0 || !slices.Equal(a, b) {
			t.Errorf("%s: %d bytes by itself, %d in a network", tc.words, a, b)
		}
	}
}
