package command

import (
	"strings"
	"testing"

	"anesim/internal/network/keys"
)

// The help of layer describes each key of each operation, and a key of many operations once.
func TestOperationsHelp(t *testing.T) {
	help, _, code := invoke("layer", "--help")
	if code != exitDone {
		t.Fatalf("status %d", code)
	}
	for _, o := range keys.Operations() {
		for _, k := range o.AllKeys() {
			if !strings.Contains(help, " "+k.Help+"\n") {
				t.Errorf("%s: the help does not describe %s: %s", o.Name, k.Name, k.Help)
			}
		}
		if !strings.Contains(help, o.Limits) {
			t.Errorf("%s: no limits in the help", o.Name)
		}
	}
	if n := strings.Count(help, "release    newest, 2026 or 2023"); n != 1 {
		t.Errorf("the help describes the key release %d times, want once", n)
	}
}

// The help of layer with an operation describes the keys of that operation alone.
func TestOperationHelp(t *testing.T) {
	for _, args := range [][]string{{"layer", "conv", "--help"}, {"layer", "conv", "-h"}, {"layer", "-h", "conv"}, {"layer", "conv", "cin=4", "-h"}} {
		help, _, code := invoke(args...)
		if code != exitDone || !strings.Contains(help, "anesim layer conv key=value...") {
			t.Errorf("%v: status %d:\n%s", args, code, help)
		}
		o, _ := keys.Find("conv")
		for _, k := range o.AllKeys() {
			if !strings.Contains(help, k.Name+" ") || !strings.Contains(help, " "+k.Help+"\n") {
				t.Errorf("%v: the help does not describe %s", args, k.Name)
			}
		}
		if strings.Contains(help, "perm ") {
			t.Errorf("%v: the help has a key of transpose:\n%s", args, help)
		}
	}
}
