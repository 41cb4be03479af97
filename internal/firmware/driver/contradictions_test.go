package driver_test

import (
	"slices"
	"strings"
	"testing"

	"anesim/internal/firmware/driver"
)

// TestConflicts checks that both readings of every conflict are listed with their places.
func TestConflicts(t *testing.T) {
	find := func(what string, columns ...string) {
		t.Helper()
		for _, c := range driver.Conflicts() {
			if c.What == what {
				for i, want := range columns {
					if got := []string{c.One, c.Other}[i]; !strings.Contains(got, want) {
						t.Errorf("%s: column %d is %q, want %q in it", what, i, got, want)
					}
				}
				return
			}
		}
		t.Errorf("no conflict about %s", what)
	}
	find("selectors of the control client", "17", "21")
	find("selectors of the control client", "17", "22")
	find("output of chaining prepare (9)", "24", "pointer")
	find("selectors 3 to 6 of the daemon", "create, prepare, unprepare, destroy", "destroy, status")
	find("engines in the open reply (+0x50)", "1", "0, 1")
	find("relocation slots", "11", "7")
	find("activation tokens", "33", "30")
	find("table 2.3 on a host", "190", "209.9")
	find("commands under way", "one", "preempt")
	find("selector 2 of a repeated call", "163", "warm")
	find("how a call ends", "interrupt", "wake port")
	find("what rings the doorbell", "selector 2 alone", "selector 4")
	find("the pair 5, 21 of a request", "class of service", "21 is the default class")
	find("key of the program cache", "content", "URL")
	find("custom bars", "barriers", "relocations")
	find("subsystem of INFERENCE_CALL", "execution", "")
	find("who opens the device", "broker", "application")
	find("stride of the tile enables", "regular", "31")
	for r, want := range map[driver.Return][2]string{
		driver.Error: {"0xe0000001", "0xe00002bc"}, driver.Busy: {"0xe0000007", "0xe00002d5"},
		driver.NotReady: {"0xe00002d0", "0xe00002d8"}, driver.Timeout: {"0xe0000404", "0xe00002d6"},
	} {
		name, _, _ := strings.Cut(r.String(), " ")
		find(name, want[0], want[1])
		if !strings.Contains(r.String(), want[0]) || !strings.Contains(r.String(), want[1]) {
			t.Errorf("%v prints %q", name, r.String())
		}
	}
	var seen []string
	for _, c := range driver.Conflicts() {
		if c.What == "" || c.One == c.Other || c.OneAt == "" || c.OtherAt == "" || c.Taken == "" || slices.Contains(seen, c.What) {
			t.Errorf("%+v", c)
		}
		seen = append(seen, c.What)
	}
}
