package anesim

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"anesim/hw"
)

// The rules are of the constants that a chip has, in its order.
func TestConstantRules(t *testing.T) {
	var constants, rules []string
	for name := range hw.M1().Constants() {
		constants = append(constants, name)
	}
	for _, r := range constantRules {
		rules = append(rules, r.name)
	}
	if d := cmp.Diff(constants, rules); d != "" {
		t.Errorf("a chip's constants (-) and the rules (+):\n%s", d)
	}
}
