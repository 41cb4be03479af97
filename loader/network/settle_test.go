package network_test

import (
	"strings"
	"testing"

	ox "anesim/internal/network/onnxtest"
	. "anesim/loader/network"
)

// TestUnmadeResult holds that what reads a result that no layer makes is refused, whatever shape
// the file states for that result: one that an operator does not have, from its node or from a
// branch.
func TestUnmadeResult(t *testing.T) {
	pair := ox.Several("Relu", []string{"m", "i"}, []string{"x"})
	branch := ox.Several("If", []string{"m", "j"}, []string{"one"},
		ox.Graph("then_branch", ox.Several("Relu", []string{"p", "i"}, []string{"x"}), ox.Output("p"), ox.Output("i")),
		ox.Graph("else_branch", ox.Node("Relu", "q", []string{"x"}), ox.Output("q"), ox.Output("q")))
	for _, c := range []struct {
		read string
		node ox.Message
		want string
	}{
		{"i", pair, `m; r no earlier node produces tensor "i"; y`},
		{"j", branch, `p; r shape of "i" is unknown; y`},
	} {
		net, err := ReadONNX(ox.Model(
			ox.Input("x", 1, 1, 2, 2), ox.Whole("one", 9, 1, []int{}, 1), ox.Shape("i", 1, 1, 2, 2), ox.Shape("r", 1, 1, 2, 2), c.node,
			ox.Node("Relu", "r", []string{c.read}), ox.Node("Add", "y", []string{"r", "m"}), ox.Output("y"),
		), Options{})
		if err != nil {
			t.Errorf("%s: %v", c.read, err)
			continue
		}
		var got []string
		for _, l := range net.Layers {
			got = append(got, strings.TrimSpace(l.Name+" "+l.Reason))
		}
		if text := strings.Join(got, "; "); text != c.want {
			t.Errorf("layers are %s, want %s", text, c.want)
		}
	}
}
