package traffic

import (
	"math"
	"slices"

	"anesim/firmware/queue"
	"anesim/hw/clock"
)

// A Result is what a load came to.
type Result struct {
	Clients []ClientResult
	Time    clock.Nanoseconds // from the first arrival's epoch to the last call's end
	Busy    clock.Nanoseconds // of the engine
	Wake    clock.Nanoseconds // that dispatches waited for the power domains
	Runs    uint64
	Energy  clock.Nanojoules // of the dispatches
	// WaitEnergy is what the engine draws while it idles with its rails on.
	WaitEnergy clock.Nanojoules
	Cut        bool // arrivals stopped at the bound on calls

	// Bins are intervals of BinTime from the start on, as far as anything happened.
	Bins    []Bin
	BinTime clock.Nanoseconds
}

// A Bin is an interval of a load.
type Bin struct {
	Energy clock.Nanojoules
	Busy   clock.Nanoseconds // of the engine
}

// Utilisation is the share of the time that the engine worked.
func (r *Result) Utilisation() float64 {
	if r.Time <= 0 {
		return 0
	}
	return float64(r.Busy / r.Time)
}

// Watts is the mean power.
func (r *Result) Watts() float64 {
	if r.Time <= 0 {
		return 0
	}
	return float64(r.Energy+r.WaitEnergy) / float64(r.Time)
}

// A ClientResult is what became of a client's calls.
type ClientResult struct {
	Name      string
	Priority  queue.Priority
	Latencies []clock.Nanoseconds // of calls that ended, ascending
	Wait      clock.Nanoseconds   // for the gate, in all
	Started   int                 // calls that came, those of Stuck aside
	Busy      []clock.Nanoseconds // of the engine for it, in each of Config.Bins intervals
	Stuck     int                 // calls of overlapped streams whose completion never fires
}

func (c *ClientResult) waited(t clock.Nanoseconds) { c.Wait += t }

func (c *ClientResult) sort() { slices.Sort(c.Latencies) }

// MeanWait is the mean time that a call waited for the gate.
func (c *ClientResult) MeanWait() clock.Nanoseconds {
	if len(c.Latencies) == 0 {
		return 0
	}
	return c.Wait / clock.Nanoseconds(len(c.Latencies))
}

// A Percentile is a latency with the 95 % interval that the number of calls gives it.
type Percentile struct{ Value, Low, High clock.Nanoseconds }

// Percentile is the latency that a share q of the calls does not exceed. Its interval is
// that of order statistics: no form of distribution is assumed, calls are taken to be
// independent, which they are less the higher the load.
func (c *ClientResult) Percentile(q float64) Percentile {
	n := len(c.Latencies)
	if n == 0 {
		return Percentile{}
	}
	at := func(rank float64) clock.Nanoseconds {
		return c.Latencies[min(max(int(math.Ceil(rank))-1, 0), n-1)]
	}
	const z95 = 1.959964
	mean := float64(q * float64(n))
	wide := float64(z95 * math.Sqrt(mean*(1-q)))
	return Percentile{at(mean), at(mean - wide), at(mean + wide + 1)}
}
