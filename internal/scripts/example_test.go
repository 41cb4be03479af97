package scripts_test

import (
	"context"
	"fmt"
	"log"

	"anesim/internal/firmware/traffic"
	"anesim/internal/scripts"
)

// Two clients share the engine; each model runs once by itself first.
func ExampleRunClients() {
	s, err := traffic.ReadScript([]byte(`
duration: 10ms
clients:
  - {name: camera, layer: conv cin=16 h=8 w=8 cout=16 k=3 pad=same, arrival: fixed, rate: 1000}
  - {name: sensor, layer: add c=16 h=8 w=8, arrival: fixed, rate: 500}
`))
	if err != nil {
		log.Fatal(err)
	}
	l, err := scripts.RunClients(context.Background(), s, nil)
	if err != nil {
		log.Fatal(err)
	}
	for i := range l.Result.Clients {
		c := &l.Result.Clients[i]
		fmt.Println(c.Name, len(c.Latencies), "calls of", len(l.Alone[i].Report.Descriptors), "descriptors")
	}
	// Output:
	// camera 10 calls of 1 descriptors
	// sensor 5 calls of 1 descriptors
}
