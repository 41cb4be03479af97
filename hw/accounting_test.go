package hw

import (
	"encoding/json"
	"reflect"
	"testing"

	"anesim/hw/clock"
)

// The causes of one table have one field each, under their names in JSON too, and sum to
// the total.
func TestCausesAreTheFields(t *testing.T) {
	var a Accounting
	sum := clock.Cycles(0)
	for c := range NumCauses {
		*a.Of(c) = 1 << c
		sum += 1 << c
	}
	if a.Total() != sum {
		t.Errorf("total %d, the causes sum to %d", a.Total(), sum)
	}
	if n := reflect.TypeFor[Accounting]().NumField(); n != int(NumCauses) {
		t.Errorf("%d fields, %d causes", n, NumCauses)
	}
	b, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	var named map[string]clock.Cycles
	if err := json.Unmarshal(b, &named); err != nil {
		t.Fatal(err)
	}
	for c, n := range a.All() {
		if named[c.String()] != n {
			t.Errorf("%v: %d in JSON, want %d", c, named[c.String()], n)
		}
	}
	if len(named) != int(NumCauses) {
		t.Errorf("%d names in JSON", len(named))
	}
}
