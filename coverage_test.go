package anesim_test

import (
	"context"
	"reflect"
	"testing"

	"anesim"
	"anesim/loader/lower"
	"anesim/loader/network/partition"
)

// A compiled program has no layers, so it covers nothing of a network.
func TestCoverageOfProgram(t *testing.T) {
	p, err := lower.ExampleProgram("add")
	if err != nil {
		t.Fatal(err)
	}
	res, err := anesim.FromProgram(p).Run(context.Background(), anesim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if c := res.Coverage(); !reflect.DeepEqual(c, partition.Coverage{}) {
		t.Errorf("coverage of a program is %+v, want zero", c)
	}
}
