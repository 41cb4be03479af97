package network_test

import (
	"context"
	"fmt"
	"log"

	"anesim/internal/network/keys"
	"anesim/loader/network"
	"anesim/loader/network/partition"
)

// A list of layers is read, folded and lowered to as few programs as it allows.
func ExampleReadYAML() {
	n, err := network.ReadYAML([]byte(`
name: small
inputs: {image: {c: 3, h: 32, w: 32}}
layers:
- {name: stem, op: conv, cout: 16, k: 3, pad: 1, act: relu}
- {name: mean, op: reduce, kind: mean, axis: hw}
- {name: flat, op: reshape, w: 16}
- {name: classes, op: linear, n: 10}
`))
	if err != nil {
		log.Fatal(err)
	}
	for i := range n.Layers {
		fmt.Println(n.Layers[i].Name, n.Layers[i].Out, n.Layers[i].MACs())
	}
	programs, reasons, _ := partition.Lower(context.Background(), n, partition.Lowering{Seed: 1})
	fmt.Println(len(programs), "program,", len(reasons), "layers")
	// Output:
	// stem {1 16 32 32} 442368
	// mean {1 16 1 1} 0
	// classes {1 1 1 10} 160
	// 1 program, 3 layers
}

// The operations of a layer and their keys, as the command takes them.
func ExampleFind() {
	op, ok := keys.Find("softmax")
	fmt.Println(ok, op.Name)
	for _, k := range op.AllKeys() {
		fmt.Println(k.Name, k.Help)
	}
	// Output:
	// true softmax
	// n batch (1)
	// c channels (1)
	// h height (1)
	// w width (1)
	// release newest, 2026 or 2023, the release of Apple's compiler to imitate (newest)
	// first input or output, the buffer that is numbered first (input)
	// axis axes, like c or hw (c)
}
