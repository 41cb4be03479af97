package report

import (
	"anesim/hw/clock"
	"anesim/internal/firmware/broker"
	"anesim/internal/firmware/traffic"
	"anesim/internal/scripts"
)

// A Load is the JSON report of a load, which is a simulation of several clients that call one
// engine.
type Load struct {
	Header
	Chip        string            `json:"chip"`
	Host        string            `json:"host"`
	HostStages  []Stage           `json:"host_stages,omitempty"` // stages of a call, which sum to its fixed time
	HostSplit   HostSplit         `json:"host_split"`
	DurationNs  clock.Nanoseconds `json:"duration_ns"`
	Seed        uint64            `json:"seed"`
	InFlight    int               `json:"in_flight"`
	Preemption  string            `json:"preemption"`
	TimeNs      clock.Nanoseconds `json:"time_ns"`
	BusyNs      clock.Nanoseconds `json:"busy_ns"`
	Utilisation float64           `json:"utilisation"`
	WakeNs      clock.Nanoseconds `json:"wake_ns"`
	Stops       uint64            `json:"stops"`   // runs that more urgent calls stopped
	LostNs      clock.Nanoseconds `json:"lost_ns"` // part of BusyNs in such runs
	LostNJ      clock.Nanojoules  `json:"lost_energy_nj"`
	StoredNs    clock.Nanoseconds `json:"stored_ns"` // part of BusyNs in which results of a call that lost the engine go to memory
	EnergyNJ    clock.Nanojoules  `json:"energy_nj"` // without LostNJ
	WaitNJ      clock.Nanojoules  `json:"wait_energy_nj"`
	MeanW       float64           `json:"mean_w"`
	Runs        uint64            `json:"runs"`
	Cut         bool              `json:"cut"`
	Memory      *LoadMemory       `json:"memory,omitempty"` // nil if no client asks the broker
	Clients     []LoadClient      `json:"clients"`
	Timeline    []LoadBin         `json:"timeline"`
	Events      []LoadEvent       `json:"events,omitempty"` // first events, as many as requested
}

// A LoadMemory says how much memory the models of the clients that ask the broker need. Clients that
// call one model share it; an adapter adds its own weights.
type LoadMemory struct {
	Models   int    `json:"models"`
	Adapters int    `json:"adapters"`
	Bytes    uint64 `json:"bytes"`
	Wired    uint64 `json:"wired_bytes"` // of models, while no call is pending
}

// A LoadEvent is something that happened to a call of a client, such as its arrival, or the
// execution of some of its descriptors.
type LoadEvent struct {
	AtNs   clock.Nanoseconds `json:"at_ns"`
	Client string            `json:"client"`
	Call   int               `json:"call"` // from 1
	What   string            `json:"what"`
	Run    int               `json:"run,omitempty"` // number of the run of descriptors, from 1
	ForNs  clock.Nanoseconds `json:"for_ns,omitempty"`
}

// A HostSplit divides the fixed time that a host adds to a call into three parts. BesideNs can
// overlap with other calls. BeforeNs and AfterNs come before and after the engine's work. Only one
// call at a time can be between the start of BeforeNs and the end of AfterNs.
type HostSplit struct {
	BesideNs clock.Nanoseconds `json:"beside_ns"`
	BeforeNs clock.Nanoseconds `json:"before_ns"`
	AfterNs  clock.Nanoseconds `json:"after_ns"`
	Evidence string            `json:"evidence"`
	Source   string            `json:"source"`
}

// A LoadClient holds the settings of one client of a load, and the latencies of its calls.
type LoadClient struct {
	Name       string            `json:"name"`
	Program    string            `json:"program"`
	Priority   uint8             `json:"priority"`
	QoS        string            `json:"qos,omitempty"`
	QueueDepth int               `json:"queue_depth,omitempty"` // calls in flight that the broker permits without contention
	AdapterOf  string            `json:"adapter_of,omitempty"`
	Arrival    string            `json:"arrival"`
	Rate       float64           `json:"rate_per_s,omitempty"`
	Alone      LoadAlone         `json:"alone"`
	Calls      int               `json:"calls"`
	CallsPerS  float64           `json:"calls_per_s"`
	MeanNs     clock.Nanoseconds `json:"mean_ns"`
	MeanWaitNs clock.Nanoseconds `json:"mean_wait_ns"` // at the gate and in the task queue
	// MeanQueueNs is the part of MeanWaitNs in the task queue, and LongestNs the longest such wait.
	MeanQueueNs clock.Nanoseconds `json:"mean_queue_wait_ns"`
	LongestNs   clock.Nanoseconds `json:"longest_queue_wait_ns"`
	Stops       uint64            `json:"stops"`
	LostNs      clock.Nanoseconds `json:"lost_ns"`
	Latency     []Percentile      `json:"latency"`
	Stuck       int               `json:"stuck"`
	After       string            `json:"after,omitempty"`
	SavedBytes  uint64            `json:"saved_host_copy_bytes"` // bytes saved by all calls
	Warnings    []string          `json:"warnings,omitempty"`    // of the program, as run has them
}

// A LoadAlone holds the costs of a client's call when no other client uses the engine. If calls have
// several sizes in turn, the times and the energy are means.
type LoadAlone struct {
	LatencyNs    clock.Nanoseconds `json:"latency_ns"`
	EngineNs     clock.Nanoseconds `json:"engine_ns"`
	Runs         int               `json:"runs"`
	LongestRunNs clock.Nanoseconds `json:"longest_run_ns"`
	EnergyNJ     clock.Nanojoules  `json:"energy_nj"`
}

// newLoadAlone returns the costs of a call of client c. If its calls have several sizes in turn, they
// are means, but for the longest run and the largest number of runs.
func newLoadAlone(c *traffic.Client) (d LoadAlone) {
	works := c.Works()
	share := 1 / float64(len(works))
	for i := range works {
		w := &works[i]
		d.EngineNs += clock.Nanoseconds(clock.Nanoseconds(share) * w.EngineTime())
		d.LatencyNs += clock.Nanoseconds(clock.Nanoseconds(share) * (w.Outside + c.Host.Before + c.Host.After + w.EngineTime()))
		d.EnergyNJ += clock.Nanojoules(clock.Nanojoules(share) * w.Energy)
		d.Runs = max(d.Runs, len(w.Runs))
		for _, t := range w.Runs {
			d.LongestRunNs = max(d.LongestRunNs, t)
		}
	}
	return d
}

// A Percentile is the latency that the fraction Share of all calls does not exceed. LowNs and
// HighNs are the ends of its 95% confidence interval.
type Percentile struct {
	Share     float64           `json:"share"`
	LatencyNs clock.Nanoseconds `json:"latency_ns"`
	LowNs     clock.Nanoseconds `json:"latency_ns_low"`
	HighNs    clock.Nanoseconds `json:"latency_ns_high"`
}

// A LoadBin holds the power and the utilisation of the engine during one interval of a load. All
// intervals have the same length.
type LoadBin struct {
	AtNs        clock.Nanoseconds `json:"at_ns"`
	ForNs       clock.Nanoseconds `json:"for_ns"`
	Watts       float64           `json:"watts"`
	EnergyNJ    clock.Nanojoules  `json:"energy_nj"`
	Utilisation float64           `json:"utilisation"`
	// Clients holds the clients' shares of Utilisation in order. It is empty for intervals
	// after the duration, in which the remaining calls finish.
	Clients []float64 `json:"clients,omitempty"`
}

// percentiles lists the fractions of calls whose latencies a load reports. The last one is the
// maximum.
var percentiles = [...]float64{0.5, 0.9, 0.99, 0.999, 1}

// NewLoad converts the result of a simulated load to its JSON report.
func NewLoad(l *scripts.Load) *Load {
	r := l.Result
	split := l.Options.Host.Split()
	us := func(v float64) clock.Nanoseconds { return clock.Nanoseconds(1e3 * v) }
	d := &Load{
		Header: NewHeader(), Chip: l.Options.Chip.Name, Host: l.Options.Host.Name,
		HostStages: newStages(&l.Options.Host),
		HostSplit:  HostSplit{us(split.Beside.Value), us(split.Before.Value), us(split.After.Value), string(split.Beside.Evidence), split.Beside.Source},
		DurationNs: l.Config.Duration, Seed: l.Config.Seed, InFlight: max(1, l.Config.InFlight), Preemption: l.Config.Preemption.String(),
		Stops: r.Stops, LostNs: r.Lost, LostNJ: r.LostEnergy, StoredNs: r.Stored,
		TimeNs: r.Time, BusyNs: r.Busy, Utilisation: r.Utilisation(), WakeNs: r.Wake,
		EnergyNJ: r.Energy, WaitNJ: r.WaitEnergy, MeanW: r.Watts(), Runs: r.Runs, Cut: r.Cut,
		Clients: []LoadClient{}, Timeline: []LoadBin{},
	}
	if m := l.Memory; m.Models > 0 {
		d.Memory = &LoadMemory{m.Models, m.Adapters, m.Bytes, m.Wired}
	}
	for i := range r.Clients {
		d.Clients = append(d.Clients, newLoadClient(l, i))
	}
	for i, b := range r.Bins {
		bin := LoadBin{AtNs: clock.Nanoseconds(i) * r.BinTime, ForNs: r.BinTime, EnergyNJ: b.Energy}
		// Where arrivals stopped early, the last interval ends with the last call.
		if left := r.Time - bin.AtNs; r.Cut && left > 0 {
			bin.ForNs = min(bin.ForNs, left)
		}
		bin.Utilisation, bin.Watts = float64(b.Busy/bin.ForNs), float64(b.Energy)/float64(bin.ForNs)
		for k := range r.Clients {
			// The last bin collects what comes after the end of the simulated time. It is not divided
			// among clients.
			if busy := r.Clients[k].Busy; i < l.Config.Bins {
				share := 0.0
				if busy != nil {
					share = float64(busy[i] / bin.ForNs)
				}
				bin.Clients = append(bin.Clients, share)
			}
		}
		d.Timeline = append(d.Timeline, bin)
	}
	d.Events = newLoadEvents(l)
	return d
}

// newLoadEvents converts the events of a load. It numbers the calls of each client from 1, and
// makes one event of the start and the end of each run of descriptors.
func newLoadEvents(l *scripts.Load) (list []LoadEvent) {
	started := make([]int, len(l.Config.Clients))
	number, began := map[int]int{}, map[int]int{}
	for _, e := range l.Events {
		if e.What == traffic.Arrived {
			started[e.Client]++
			number[e.Call] = started[e.Client]
		}
		x := LoadEvent{AtNs: e.At, Client: l.Result.Clients[e.Client].Name, Call: number[e.Call], What: e.What.String()}
		switch e.What {
		case traffic.Began:
			x.Run, x.What = e.Run+1, "run"
			began[e.Call] = len(list)
		case traffic.Ran, traffic.Stopped:
			if e.What == traffic.Stopped {
				list[began[e.Call]].What = "run, stopped"
			}
			list[began[e.Call]].ForNs = e.At - list[began[e.Call]].AtNs
			continue
		}
		list = append(list, x)
	}
	return list
}

func newLoadClient(l *scripts.Load, i int) LoadClient {
	r, c := &l.Result.Clients[i], &l.Config.Clients[i]
	d := LoadClient{
		Name: c.Name, Program: l.Alone[i].Model.Name(), Warnings: l.Alone[i].RelocationNotes(), Priority: uint8(c.Priority), Arrival: string(c.Arrival), Rate: c.Rate,
		Alone: newLoadAlone(c),
		Calls: len(r.Latencies), MeanWaitNs: r.MeanWait(), MeanQueueNs: r.MeanQueueWait(), LongestNs: r.Longest, Stops: r.Stops, LostNs: r.Lost, Stuck: r.Stuck, Latency: []Percentile{},
	}
	if x := &l.Script.Clients[i]; c.Brokered {
		d.QoS, d.QueueDepth, d.AdapterOf = x.QoS, broker.LimitDepth(x.QueueDepth, false), x.AdapterOf
	}
	d.After, d.SavedBytes = l.Script.Clients[i].After, l.Saved[i]*uint64(d.Calls)
	if c.Arrival == traffic.BackToBack {
		d.Rate = 0
	}
	if n := len(r.Latencies); n > 0 {
		d.CallsPerS = float64(n) / float64(l.Result.Time/1e9)
		sum := clock.Nanoseconds(0)
		for _, t := range r.Latencies {
			sum += t
		}
		d.MeanNs = sum / clock.Nanoseconds(n)
		for _, q := range percentiles {
			p := r.Percentile(q)
			d.Latency = append(d.Latency, Percentile{q, p.Value, p.Low, p.High})
		}
	}
	return d
}
