package anesim_test

import (
	"context"
	"fmt"
	"log"
	"math"

	"github.com/x448/float16"

	"anesim"
	"anesim/firmware/engine"
	"anesim/loader"
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

// Two programs form a pipeline: what the first leaves is the second's input where it stands.
func ExampleLoaded_Connect() {
	ctx := context.Background()
	s, err := anesim.NewSession(anesim.Options{Values: true})
	if err != nil {
		log.Fatal(err)
	}
	load := func(op string, keys ...string) *anesim.Loaded {
		m, err := anesim.Layer(op, keys...)
		if err != nil {
			log.Fatal(err)
		}
		l, err := s.Load(ctx, m)
		if err != nil {
			log.Fatal(err)
		}
		return l
	}
	square, sum := load("square", "c=4"), load("add", "c=4", "second=scalar", "value=1")
	if err := sum.Connect("x", square, "y"); err != nil {
		log.Fatal(err)
	}
	in := make([]float16.Float16, 4)
	for i := range in {
		in[i] = float16.Fromfloat32(float32(i))
	}
	if err := square.Set("x", in); err != nil {
		log.Fatal(err)
	}
	for _, l := range []*anesim.Loaded{square, sum} {
		res, err := l.Call(ctx)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(res.Outputs[0].Data)
	}
	fmt.Println(s.Saved().HostCopyBytes, "bytes between host and device saved")
	// Output:
	// [0 1 4 9]
	// [1 2 5 10]
	// 16 bytes between host and device saved
}

// One program serves a matrix product of every length: the length is a run-time parameter of
// the extents, the tile DMA and the kernel DMA.
func ExampleLayerOver() {
	ctx := context.Background()
	m, params, err := anesim.LayerOver(ctx, "k", loader.Range{Start: 32, Stop: 128, Step: 32}, "matmul", "m=16", "n=32", "rhs=runtime")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(params.Relocations), "register fields follow k")
	s, err := anesim.NewSession(anesim.Options{Values: true})
	if err != nil {
		log.Fatal(err)
	}
	product, err := s.Load(ctx, m)
	if err != nil {
		log.Fatal(err)
	}
	for _, k := range []uint64{32, 96} {
		if err := product.Bind("k", k); err != nil {
			log.Fatal(err)
		}
		res, err := product.Call(ctx)
		if err != nil {
			log.Fatal(err)
		}
		one, err := anesim.Layer("matmul", "m=16", "n=32", "rhs=runtime", fmt.Sprint("k=", k))
		if err != nil {
			log.Fatal(err)
		}
		alone, err := one.Run(ctx, anesim.Options{Values: true})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(k, res.Report.MACs, "MACs, as by itself:", engine.Checksum(res.Outputs[0].Data) == engine.Checksum(alone.Outputs[0].Data))
	}
	fmt.Println(product.Bind("k", 40))
	// Output:
	// 39 register fields follow k
	// 32 16384 MACs, as by itself: true
	// 96 49152 MACs, as by itself: true
	// live-in relocation of descriptor 0, KernelDMASrc.CoeffBaseAddr[1].Addr: k is 40; want 32 to 128 in steps of 32
}
