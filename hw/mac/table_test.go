package mac

import (
	"os"
	"testing"
)

func TestOwnTables(t *testing.T) {
	for _, a := range Activations() {
		tab, dev := TableOf(a)
		t.Log(a, dev, tab.Eval(0).Float32())
	}
}

func TestRealTables(t *testing.T) {
	for _, a := range Activations() {
		b, err := os.ReadFile("../../../shared/luts/" + a.String() + ".lut.bin")
		if err != nil {
			t.Log(err)
			continue
		}
		tab, err := ParseTable(b)
		if err != nil {
			t.Fatal(err)
		}
		t.Log(a, tab.Deviation(activations[a].f), tab.Eval(0).Float32())
	}
}
