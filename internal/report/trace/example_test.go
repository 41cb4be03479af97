package trace_test

import (
	"bytes"
	"context"
	"fmt"
	"log"

	"anesim"
	"anesim/internal/report/trace"
)

// A trace opens in Perfetto.
func ExampleWrite() {
	res, err := anesim.Identity().Run(context.Background(), anesim.Options{})
	if err != nil {
		log.Fatal(err)
	}
	var file bytes.Buffer
	if err := trace.Write(&file, res); err != nil {
		log.Fatal(err)
	}
	fmt.Println(file.Len() > 0)
	// Output: true
}
