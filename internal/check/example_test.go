package check_test

import (
	"context"
	"fmt"
	"log"

	"anesim"
	"anesim/internal/check"
	"anesim/internal/report"
)

// entryOf returns the baseline entry of a convolution with cout output channels.
func entryOf(cout string) check.Entry {
	m, err := anesim.Layer("conv", "cin=64", "h=28", "w=28", "k=3", "pad=1", cout)
	if err != nil {
		log.Fatal(err)
	}
	res, err := m.Run(context.Background(), anesim.Options{})
	if err != nil {
		log.Fatal(err)
	}
	e, err := check.NewEntry(res, "stem")
	if err != nil {
		log.Fatal(err)
	}
	return e
}

// A layer that has grown differs from its baseline.
func ExampleBaseline_Check() {
	base := check.Baseline{Header: report.NewHeader()}
	base.Set(entryOf("cout=64"))
	for _, cout := range []string{"cout=64", "cout=128"} {
		got := entryOf(cout)
		v := base.Check(&got, 0.01)
		fmt.Println(cout, v.Passed())
	}
	// Output:
	// cout=64 true
	// cout=128 false
}

func ExampleRegisterChanges() {
	fmt.Println(check.RegisterChanges("Common.ConvCfg=0x1", "Common.ConvCfg=0x2"))
	// Output: [Common.ConvCfg.Kw 0x1 -> 0x2]
}
