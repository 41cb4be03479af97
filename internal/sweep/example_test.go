package sweep_test

import (
	"fmt"
	"log"

	"anesim"
	"anesim/hw"
	"anesim/internal/sweep"
)

// A grid over a layer's width and the chip's engines, the last axis changing fastest.
func ExampleNew() {
	s, err := sweep.New(&sweep.Description{
		Words:   []string{"relu", "c=16,32", "h=8", "w=8", "chip.Engines=8,16"},
		Options: anesim.Options{Chip: hw.M1(), Repeat: 1},
	})
	if err != nil {
		log.Fatal(err)
	}
	total, err := s.Points()
	if err != nil {
		log.Fatal(err)
	}
	all, err := sweep.ParseShard("")
	if err != nil {
		log.Fatal(err)
	}
	err = s.Time(all, 0, total, 2, func(row []string) error {
		fmt.Println(row[:6])
		return nil
	}, func() error { return nil })
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// [0 relu 16 8 8 8]
	// [1 relu 16 8 8 16]
	// [2 relu 32 8 8 8]
	// [3 relu 32 8 8 16]
}
