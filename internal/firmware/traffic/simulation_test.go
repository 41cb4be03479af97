package traffic_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"anesim/firmware"
	"anesim/hw/clock"
	"anesim/internal/firmware/traffic"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	t.Logf("%s: %.6g, expected %.6g (%+.2f %%)", what, got, want, 100*(got-want)/want)
	if math.Abs(got-want) > tolerance*want {
		t.Errorf("%s: %.4g, want %.4g within %g", what, got, want, tolerance)
	}
}

func run(t *testing.T, c *traffic.Config) *traffic.Result {
	t.Helper()
	r, err := traffic.Simulate(c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestUtilisationIsTheOfferedLoad checks that, below saturation, the engine is busy for the
// offered load of four clients with random arrivals.
func TestUtilisationIsTheOfferedLoad(t *testing.T) {
	for _, share := range []float64{0.1, 0.2} {
		c := traffic.Config{Duration: 200e9, Seed: 3}
		for i := range 4 {
			service := clock.Nanoseconds(100e3 * float64(i+1))
			c.Clients = append(c.Clients, traffic.Client{
				Name: string(rune('a' + i)), Priority: 3, Arrival: traffic.Poisson,
				Rate: share * 1e9 / float64(service), Runs: []clock.Nanoseconds{service},
			})
		}
		near(t, "utilisation", run(t, &c).Utilisation(), 4*share, 0.02)
	}
}

// One client at one priority waits as a queue of random arrivals and constant service does:
// rho / (2 (1 - rho)) service times.
func TestQueueingDelayIsThatOfMD1(t *testing.T) {
	for _, rho := range []float64{0.3, 0.5, 0.7, 0.8} {
		const service = 200e3
		c := traffic.Config{Duration: 100e9, Seed: 11, Clients: []traffic.Client{{
			Name: "a", Priority: 2, Arrival: traffic.Poisson, Rate: rho * 1e9 / service, Runs: []clock.Nanoseconds{service},
		}}}
		near(t, "mean wait", float64(run(t, &c).Clients[0].MeanWait()), rho/(2*(1-rho))*service, 0.05)
	}
}

// Two threads that submit back to back get little more done than one, for all but a small
// part of a call holds the gate.
func TestTwoThreadsHardlyOverlap(t *testing.T) {
	done := func(threads int) float64 {
		c := traffic.Config{Duration: 1e9, Clients: []traffic.Client{{
			Name: "a", Priority: 3, Arrival: traffic.BackToBack, Threads: threads,
			Runs: []clock.Nanoseconds{1000}, Host: traffic.Host{Outside: 7e3, Before: 100e3, After: 76e3},
		}}}
		return float64(len(run(t, &c).Clients[0].Latencies))
	}
	near(t, "two threads against one", done(2)/done(1), 1.04, 0.005)
}

// With several commands in flight an urgent call waits for one run of the other at most.
func TestUrgentCallsWaitForOneRun(t *testing.T) {
	long := []clock.Nanoseconds{400, 900, 300, 900}
	c := traffic.Config{Duration: 1e7, Seed: 5, InFlight: 8, Clients: []traffic.Client{
		{Name: "bulk", Priority: 7, Arrival: traffic.BackToBack, Threads: 3, Runs: long},
		{Name: "urgent", Priority: 0, Arrival: traffic.Fixed, Rate: 1e5, Runs: []clock.Nanoseconds{50}},
	}}
	r := run(t, &c)
	worst := r.Clients[1].Percentile(1).Value
	if worst > 900+50 || worst <= 50 {
		t.Errorf("an urgent call took %v", worst)
	}
	c.InFlight = 1
	if r := run(t, &c); r.Clients[1].Percentile(1).Value <= 950 {
		t.Error("with one command in flight an urgent call waits for whole programs")
	}
}

func TestOverlappedStreamIsReported(t *testing.T) {
	c := traffic.Config{Duration: 1e6, Clients: []traffic.Client{{
		Name: "a", Priority: 3, Arrival: traffic.BackToBack, Streams: 2, Runs: []clock.Nanoseconds{1000},
	}}}
	if r := run(t, &c); r.Clients[0].Stuck != 1 || len(r.Clients[0].Latencies) == 0 {
		t.Errorf("%d stuck, %d done", r.Clients[0].Stuck, len(r.Clients[0].Latencies))
	}
}

// Calls far apart find the rails off and wait for them.
func TestIdleGapsWake(t *testing.T) {
	c := traffic.Config{
		Duration: 10e9, Bins: 10,
		Waiting: func(_ int, t clock.Nanoseconds) clock.Nanojoules { return clock.Nanojoules(0.1 * float64(t)) },
		Power:   firmware.PowerTimes{WakeGap: 100e6, WakeTime: 0.5e6, ColdGap: 5e9, ColdWake: 260e6, RailsOff: 100e6},
		Clients: []traffic.Client{{Name: "a", Priority: 3, Arrival: traffic.Fixed, Rate: 1, Runs: []clock.Nanoseconds{1e6}}},
	}
	r := run(t, &c)
	if n := len(r.Clients[0].Latencies); n != 10 || r.Wake != 9*0.5e6 {
		t.Errorf("%d calls waited %v", n, r.Wake)
	}
	near(t, "idle energy", float64(r.WaitEnergy), 0.1*(100e6*10+9*0.5e6), 0.01)
	sum, busy := clock.Nanojoules(0), clock.Nanoseconds(0)
	for _, b := range r.Bins {
		sum, busy = sum+b.Energy, busy+b.Busy
	}
	near(t, "energy of the intervals", float64(sum), float64(r.Energy+r.WaitEnergy), 1e-9)
	near(t, "work of the intervals", float64(busy), float64(r.Busy), 1e-9)
}

// The same seed gives the same bits, another one others.
func TestDeterminism(t *testing.T) {
	c := traffic.Config{Duration: 1e9, Seed: 1, InFlight: 2, Clients: []traffic.Client{
		{Name: "a", Priority: 3, Arrival: traffic.Poisson, Rate: 3000, Runs: []clock.Nanoseconds{5e4, 7e4}},
		{Name: "b", Priority: 1, Arrival: traffic.Poisson, Rate: 2000, Runs: []clock.Nanoseconds{3e4}},
	}}
	first := run(t, &c)
	if diff := cmp.Diff(first, run(t, &c)); diff != "" {
		t.Error(diff)
	}
	c.Seed = 2
	if cmp.Equal(first, run(t, &c)) {
		t.Error("the seed decides nothing")
	}
}

// A client that follows another calls as often, and when that one's calls return.
func TestFollowers(t *testing.T) {
	c := traffic.Config{Duration: 1e7, Seed: 2, Clients: []traffic.Client{
		{Name: "camera", Priority: 2, Arrival: traffic.Fixed, Rate: 1000, Runs: []clock.Nanoseconds{1e5}},
		{Name: "detect", Priority: 3, Arrival: traffic.After, After: 0, Runs: []clock.Nanoseconds{2e5}},
		{Name: "draw", Priority: 3, Arrival: traffic.After, After: 1, Runs: []clock.Nanoseconds{1e4}},
	}}
	var returned [3]clock.Nanoseconds // the last call of each
	c.Observe = func(e traffic.Event) {
		switch {
		case e.What == traffic.Left:
			returned[e.Client] = e.At
		case e.What == traffic.Arrived && e.Client > 0 && returned[e.Client-1] != e.At:
			t.Errorf("%+v arrives; the call before it returned at %v", e, returned[e.Client-1])
		}
	}
	r := run(t, &c)
	for i := range r.Clients {
		if n := len(r.Clients[i].Latencies); n != 10 {
			t.Errorf("%s: %d calls", r.Clients[i].Name, n)
		}
	}
	c.Clients[1].After = 1
	var e *traffic.ConfigError
	if _, err := traffic.Simulate(&c); !errors.As(err, &e) {
		t.Errorf("a client that follows itself: %v", err)
	}
}

// Every call has its events, in order and of the times that its latency has; observing
// changes nothing.
func TestEvents(t *testing.T) {
	c := traffic.Config{Duration: 1e8, Seed: 4, InFlight: 3, Bins: 7, Clients: []traffic.Client{
		{Name: "a", Priority: 3, Arrival: traffic.Poisson, Rate: 5000, Runs: []clock.Nanoseconds{5e4, 7e4}, Host: traffic.Host{Outside: 1e3, Before: 2e3, After: 3e3}},
		{Name: "b", Priority: 1, Arrival: traffic.Fixed, Rate: 2000, Runs: []clock.Nanoseconds{3e4}},
	}}
	plain := run(t, &c)
	seen := map[int][]traffic.Event{}
	last, began, busy := clock.Nanoseconds(0), clock.Nanoseconds(0), clock.Nanoseconds(0)
	running := -1
	c.Observe = func(e traffic.Event) {
		if e.At < last && e.What != traffic.Began {
			t.Errorf("%+v comes after %v", e, last)
		}
		last = max(last, e.At)
		switch e.What {
		case traffic.Began:
			if running >= 0 {
				t.Errorf("%+v begins while call %d runs", e, running)
			}
			running, began = e.Call, e.At
		case traffic.Ran:
			if running != e.Call {
				t.Errorf("%+v ends while call %d runs", e, running)
			}
			running = -1
			busy += e.At - began
		}
		seen[e.Call] = append(seen[e.Call], e)
	}
	r := run(t, &c)
	if d := cmp.Diff(plain, r); d != "" {
		t.Error(d)
	}
	near(t, "the runs", float64(busy), float64(r.Busy), 1e-9)
	if n := len(r.Clients[0].Latencies) + len(r.Clients[1].Latencies); len(seen) != n {
		t.Errorf("%d calls, the result has %d", len(seen), n)
	}
	for k, list := range seen {
		client := &c.Clients[list[0].Client]
		want := []traffic.What{traffic.Arrived, traffic.Gated, traffic.Admitted, traffic.Queued}
		for range client.Runs {
			want = append(want, traffic.Began, traffic.Ran)
		}
		want = append(want, traffic.Left)
		var got []traffic.What
		for i, e := range list {
			if e.What != traffic.Woke {
				got = append(got, e.What)
			}
			if i > 0 && e.At < list[i-1].At {
				t.Errorf("call %d: %+v comes before %+v", k, e, list[i-1])
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("call %d: %s", k, d)
		}
		if behind := list[len(list)-1].At - list[len(list)-2].At; math.Abs(float64(behind-client.Host.After)) > 1e-3 {
			t.Errorf("call %d takes %v behind the engine", k, behind)
		}
	}
	sum, all := clock.Nanoseconds(0), clock.Nanoseconds(0)
	for i := range r.Clients {
		for _, b := range r.Clients[i].Busy {
			sum += b
		}
	}
	for _, b := range r.Bins[:c.Bins] {
		all += b.Busy
	}
	near(t, "the clients' shares", float64(sum), float64(all), 1e-9)
}

func TestRefusals(t *testing.T) {
	good := traffic.Client{Name: "a", Arrival: traffic.Poisson, Rate: 1, Runs: []clock.Nanoseconds{1}}
	for name, change := range map[string]func(*traffic.Config){
		"duration": func(c *traffic.Config) { c.Duration = 0 },
		"clients":  func(c *traffic.Config) { c.Clients = nil },
		"priority": func(c *traffic.Config) { c.Clients[0].Priority = 8 },
		"runs":     func(c *traffic.Config) { c.Clients[0].Runs = nil },
		"arrival":  func(c *traffic.Config) { c.Clients[0].Arrival = "sometimes" },
		"rate":     func(c *traffic.Config) { c.Clients[0].Rate = math.NaN() },
		"no time":  func(c *traffic.Config) { c.Clients[0].Runs = []clock.Nanoseconds{0} },
		"threads":  func(c *traffic.Config) { c.Clients[0].Threads = 1 << 20 },
	} {
		c := traffic.Config{Duration: 1, Clients: []traffic.Client{good}}
		change(&c)
		var e *traffic.ConfigError
		if _, err := traffic.Simulate(&c); !errors.As(err, &e) {
			t.Errorf("%s: %v", name, err)
		}
	}
	c := traffic.Config{Duration: 1e9, MaxCalls: 10, Clients: []traffic.Client{{Name: "a", Arrival: traffic.Fixed, Rate: 1e6, Runs: []clock.Nanoseconds{1}}}}
	if r := run(t, &c); !r.Cut || len(r.Clients[0].Latencies) != 10 {
		t.Errorf("%d calls beyond the bound", len(r.Clients[0].Latencies))
	}
}

// A million dispatches of two clients take seconds, here some tens at the most on a machine
// that does much else.
func TestAMillionDispatches(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: a million dispatches take seconds")
	}
	start := time.Now()
	r := run(t, million(1))
	n := len(r.Clients[0].Latencies) + len(r.Clients[1].Latencies)
	took := time.Since(start)
	if n < 990_000 || r.Cut || took > time.Minute {
		t.Errorf("%d dispatches in %v", n, took)
	}
	t.Logf("%d dispatches in %v", n, took)
}

// million returns the configuration of a simulation with a million dispatches.
func million(seed uint64) *traffic.Config {
	return &traffic.Config{Duration: 100e9, Seed: seed, Clients: []traffic.Client{
		{Name: "a", Priority: 3, Arrival: traffic.Poisson, Rate: 5000, Runs: []clock.Nanoseconds{5e4, 5e4}},
		{Name: "b", Priority: 1, Arrival: traffic.Poisson, Rate: 5000, Runs: []clock.Nanoseconds{2e4}},
	}}
}

func BenchmarkLoad(b *testing.B) {
	for range b.N {
		r, err := traffic.Simulate(million(1))
		if err != nil {
			b.Fatal(err)
		}
		n := len(r.Clients[0].Latencies) + len(r.Clients[1].Latencies)
		b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "dispatches/s")
	}
}
