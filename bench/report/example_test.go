package report_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log"

	"anesim"
	"anesim/bench/report"
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
