package anesim_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"anesim"
	"anesim/internal/cache"
)

// A network is lowered once, whoever asks for it and in whatever process.
func ExampleModel_Run_cache() {
	dir, err := os.MkdirTemp("", "programs")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for range 2 {
		m, err := anesim.Layer("conv", "cin=16", "h=8", "w=8", "cout=16", "k=3", "pad=1")
		if err != nil {
			log.Fatal(err)
		}
		programs, err := cache.Open(dir)
		if err != nil {
			log.Fatal(err)
		}
		res, err := m.Run(context.Background(), anesim.Options{Cache: programs})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(res.Cache.Outcome, res.Report.Cycles > 0)
	}
	// Output:
	// made true
	// fetched true
}
