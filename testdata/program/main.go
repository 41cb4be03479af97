// Command program runs a compiled program or a network and prints what bounds it.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"anesim"
)

func main() {
	m, err := anesim.Open(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	res, err := m.Run(context.Background(), anesim.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, d := range res.Report.Descriptors {
		fmt.Println(d.Op, d.Cycles.Total(), "cycles,", d.Cycles.Bound(), d.Time, d.Energy)
	}
	fmt.Println(res.Report.Time, "of engine time,", res.Report.DMA.Total(), "bytes moved")
}
