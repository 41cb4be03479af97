package anesim_test

import (
	"context"
	"fmt"
	"log"
	"math"

	"github.com/x448/float16"

	"anesim"
)

// An output bound as the next call's input stays in the device's memory.
func ExampleSession() {
	ctx := context.Background()
	s, err := anesim.NewSession(anesim.Options{Values: true})
	if err != nil {
		log.Fatal(err)
	}
	m, err := anesim.Layer("add", "c=4")
	if err != nil {
		log.Fatal(err)
	}
	sum, err := s.Load(ctx, m)
	if err != nil {
		log.Fatal(err)
	}
	if err := sum.Alias("y", "z"); err != nil {
		log.Fatal(err)
	}
	one := float16.Fromfloat32(1)
	if err := sum.Set("x", []float16.Float16{one, one, one, one}); err != nil {
		log.Fatal(err)
	}
	for range 4 {
		res, err := sum.Call(ctx)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(res.Outputs[0].Data)
	}
	// Output:
	// [1 1 1 1]
	// [2 2 2 2]
	// [3 3 3 3]
	// [4 4 4 4]
}

// A decoder writes 64 tokens: its caches of keys and values are state, and each call's
// result is the next call's token.
func ExampleSession_decode() {
	ctx := context.Background()
	m, err := anesim.Open("tools/anesim/examples/decode.yaml")
	if err != nil {
		log.Fatal(err)
	}
	s, err := anesim.NewSession(anesim.Options{Values: true, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	block, err := s.Load(ctx, m)
	if err != nil {
		log.Fatal(err)
	}
	for _, a := range []anesim.StateAlias{{Output: "keys_next", Input: "keys"}, {Output: "values_next", Input: "values"}} {
		if err := block.Alias(a.Output, a.Input); err != nil {
			log.Fatal(err)
		}
	}
	const positions, width = 64, 64
	token, at, mask := make([]float16.Float16, width), make([]float16.Float16, positions), make([]float16.Float16, positions)
	for i := range token {
		token[i] = float16.Fromfloat32(float32(math.Sin(float64(i))))
	}
	for i := range mask {
		mask[i] = float16.Fromfloat32(-30000)
	}
	var tokens, filled int
	for n := range positions {
		clear(at)
		at[n], mask[n] = float16.Fromfloat32(1), 0
		for name, data := range map[string][]float16.Float16{"token": token, "at_column": at, "at_row": at, "mask": mask} {
			if err := block.Set(name, data); err != nil {
				log.Fatal(err)
			}
		}
		res, err := block.Call(ctx)
		if err != nil {
			log.Fatal(err)
		}
		for _, out := range res.Outputs {
			switch out.Port.Name {
			case "next":
				token = out.Data
				tokens++
			case "values_next": // a row a position
				filled = 0
				for row := range positions {
					if out.Data[row*32] != 0 {
						filled++
					}
				}
			}
		}
	}
	fmt.Println(tokens, "tokens,", filled, "positions of the cache filled")
	// Output: 64 tokens, 64 positions of the cache filled
}
