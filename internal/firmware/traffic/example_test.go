package traffic_test

import (
	"context"
	"fmt"
	"log"

	"anesim/hw/clock"
	"anesim/internal/firmware/traffic"
	"anesim/internal/scripts"
)

// Two clients share an engine: a camera that calls 1,000 times a second, and a more urgent
// one that waits for at most one run of the camera's.
func ExampleSimulate() {
	c := traffic.Config{Duration: 100e6, Seed: 1, InFlight: 2, Clients: []traffic.Client{
		{Name: "camera", Priority: 5, Arrival: traffic.Fixed, Rate: 1000, Runs: []clock.Nanoseconds{400e3, 400e3}},
		{Name: "urgent", Priority: 0, Arrival: traffic.Fixed, Rate: 100, Runs: []clock.Nanoseconds{50e3}},
	}}
	r, err := traffic.Simulate(&c)
	if err != nil {
		log.Fatal(err)
	}
	for i := range r.Clients {
		x := &r.Clients[i]
		fmt.Printf("%s: %d calls, median %v\n", x.Name, len(x.Latencies), x.Percentile(0.5).Value)
	}
	fmt.Printf("the engine is busy %.1f%% of the time\n", 100*r.Utilisation())
	// Output:
	// camera: 100 calls, median 800.000 us
	// urgent: 10 calls, median 50.000 us
	// the engine is busy 80.5% of the time
}

// A script names clients and their layers or files.
func ExampleScript() {
	s, err := traffic.ReadScript([]byte(`
host: linux
duration: 10ms
clients:
  - {name: camera, layer: conv cin=16 h=8 w=8 cout=16 k=3 pad=same, arrival: fixed, rate: 1000}
`))
	if err != nil {
		log.Fatal(err)
	}
	l, err := scripts.RunClients(context.Background(), s, nil)
	if err != nil {
		log.Fatal(err)
	}
	for i := range l.Result.Clients {
		fmt.Println(l.Result.Clients[i].Name, len(l.Result.Clients[i].Latencies), "calls")
	}
	// Output: camera 10 calls
}
