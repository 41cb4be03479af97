package engine_test

import (
	"context"
	"fmt"
	"log"

	"anesim/firmware/engine"
	"anesim/loader/lower"
)

// A program is loaded once and called twice; the second call finds the inputs of the first.
func ExampleSession() {
	p, err := lower.IdentityProgram()
	if err != nil {
		log.Fatal(err)
	}
	s, err := engine.New(engine.Options{Values: true})
	if err != nil {
		log.Fatal(err)
	}
	l, err := s.Load(p)
	if err != nil {
		log.Fatal(err)
	}
	for range 2 {
		res, err := l.Call(context.Background())
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(len(res.Report.Descriptors), "descriptors, inputs written:", len(res.Inputs), "outputs:", len(res.Outputs))
	}
	// Output:
	// 2 descriptors, inputs written: 1 outputs: 1
	// 2 descriptors, inputs written: 0 outputs: 1
}

// A call runs up to where another program may have the engine.
func ExampleCall_Run() {
	p, err := lower.ExampleProgram("concat")
	if err != nil {
		log.Fatal(err)
	}
	s, err := engine.New(engine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	l, err := s.Load(p)
	if err != nil {
		log.Fatal(err)
	}
	c, err := l.Start(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	runs := 0
	for more := true; more; runs++ {
		_, more = c.Run()
	}
	res, err := c.Result()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(res.Report.Descriptors), "descriptors in", runs, "runs")
	// Output: 2 descriptors in 2 runs
}
