package explain_test

import (
	"context"
	"fmt"
	"log"

	"anesim"
	"anesim/internal/explain"
)

func ExampleExplain() {
	m, err := anesim.Layer("conv", "cin=64", "h=64", "w=1", "cout=64", "k=1")
	if err != nil {
		log.Fatal(err)
	}
	x, err := explain.Explain(context.Background(), m, anesim.Options{}, explain.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(x.Kind, len(x.Parts), "part")
	fmt.Println("better:", x.Trials[0].Change)
	// Output:
	// layer 1 part
	// better: reshape h=64 w=1 to h=1 w=64
}

// A network whose first layer is split into two parts of its output channels.
func ExampleRegroupLayers() {
	m, err := anesim.Open("../../tools/anesim/examples/mobilenetv2.yaml")
	if err != nil {
		log.Fatal(err)
	}
	first := m.Network().Layers[0].Name
	split, err := explain.RegroupLayers(m, []explain.Regroup{{Layers: []string{first}, Parts: 2}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(m.Network().Layers), "layers become", len(split.Network().Layers))
	// Output: 64 layers become 66
}
