package chip

import (
	"testing"

	"anesim/hw"
)

func TestByName(t *testing.T) {
	for _, want := range hw.Chips() {
		got, err := ByName(want.Name)
		if err != nil || got != want {
			t.Errorf("%s: chip %q, %v", want.Name, got.Name, err)
		}
	}
	if c, err := ByName(Default); err != nil || c != hw.M1() {
		t.Errorf("the default chip is %q, %v; want the M1, which a run without a chip has", c.Name, err)
	}
	if _, err := ByName("m7"); err == nil || err.Error() != `unknown chip "m7"; want m1, m1max or a14; did you mean m1?` {
		t.Errorf("m7: %v", err)
	}
}
