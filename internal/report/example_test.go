package report_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log"

	"anesim"
	"anesim/internal/report"
)

func ExampleWriteJSON() {
	res, err := anesim.Identity().Run(context.Background(), anesim.Options{})
	if err != nil {
		log.Fatal(err)
	}
	var b bytes.Buffer
	if err := report.WriteJSON(&b, res); err != nil {
		log.Fatal(err)
	}
	var d report.Run
	if err := json.Unmarshal(b.Bytes(), &d); err != nil {
		log.Fatal(err)
	}
	fmt.Println(d.Schema, d.Program, len(d.Descriptors), d.Cycles.Total == d.Total.Cycles)
	// Output: 1 identity 2 true
}

// The document of a run has the numbers of the JSON.
func ExampleNewRun() {
	res, err := anesim.Identity().Run(context.Background(), anesim.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, d := range report.NewRun(res).Descriptors {
		fmt.Println(d.Index, d.Op, d.Bound)
	}
	// Output:
	// 0 transpose input_stall
	// 1 matmul kernel_stall
}

// A profile opens in go tool pprof.
func ExampleWriteProfile() {
	res, err := anesim.Identity().Run(context.Background(), anesim.Options{})
	if err != nil {
		log.Fatal(err)
	}
	var profile bytes.Buffer
	if err := report.WriteProfile(&profile, res, "model.hwx"); err != nil {
		log.Fatal(err)
	}
	fmt.Println(profile.Len() > 0)
	// Output: true
}
