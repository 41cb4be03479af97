package traffic

import (
	"math"
	"slices"

	"anesim/firmware/queue"
	"anesim/hw/clock"
)

// A Result holds the results of a simulation.
type Result struct {
	Clients []ClientResult
	Time    clock.Nanoseconds // from the start to the end of the last call, at least Config.Duration unless Cut
	Busy    clock.Nanoseconds // time that the engine worked
	Stored  clock.Nanoseconds // part of Busy in which a call waited for the results of the one before it
	Wake    clock.Nanoseconds // time that dispatches waited for the power domains
	Runs    uint64
	Energy  clock.Nanojoules // energy of the dispatches, without LostEnergy
	// Stops is the number of runs that more urgent calls stopped, and counts in Runs. Lost is the part
	// of Busy that these runs took in vain, and LostEnergy their energy.
	Stops      uint64
	Lost       clock.Nanoseconds
	LostEnergy clock.Nanojoules
	// WaitEnergy is the energy that the engine draws while it is idle with its power rails
	// on.
	WaitEnergy clock.Nanojoules
	Cut        bool // arrivals stopped at Config.MaxCalls

	// Bins divides the simulated time into intervals of length BinTime.
	Bins    []Bin
	BinTime clock.Nanoseconds
}

// A Bin holds the energy and the engine time of one interval.
type Bin struct {
	Energy clock.Nanojoules
	Busy   clock.Nanoseconds // time that the engine worked
}

// Utilisation returns the fraction of the simulated time in which the engine worked.
func (r *Result) Utilisation() float64 {
	if r.Time <= 0 {
		return 0
	}
	return float64(r.Busy / r.Time)
}

// Watts returns the mean power of the engine over the simulated time.
func (r *Result) Watts() float64 {
	if r.Time <= 0 {
		return 0
	}
	return float64(r.Energy+r.LostEnergy+r.WaitEnergy) / float64(r.Time)
}

// A ClientResult holds the results for one client's calls.
type ClientResult struct {
	Name      string
	Priority  queue.Priority
	Latencies []clock.Nanoseconds // latencies of finished calls in ascending order
	Wait      clock.Nanoseconds   // total time waiting for the broker and the gate
	// QueueWait is the total time that calls spent in their task queue other than in runs that count:
	// behind other calls, while the engine woke, and in runs that were stopped. Longest is the
	// longest such time of one call.
	QueueWait, Longest clock.Nanoseconds
	Stops              uint64              // runs of the client that more urgent calls stopped
	Lost               clock.Nanoseconds   // engine time of these runs
	Started            int                 // calls that arrived, excluding Stuck
	Busy               []clock.Nanoseconds // engine time for the client in each of Config.Bins intervals
	Stuck              int                 // calls of further streams, which never return; see Client.Streams
}

func (c *ClientResult) addWait(t clock.Nanoseconds) { c.Wait += t }

func (c *ClientResult) addQueueWait(t clock.Nanoseconds) {
	t = max(0, t) // rounding
	c.QueueWait += t
	c.Longest = max(c.Longest, t)
}

func (c *ClientResult) sortLatencies() { slices.Sort(c.Latencies) }

// MeanWait returns how long calls waited on average at the driver's gate and in their task queue, or
// 0 if no call has finished.
func (c *ClientResult) MeanWait() clock.Nanoseconds { return c.mean(c.Wait + c.QueueWait) }

// MeanQueueWait returns the part of [ClientResult.MeanWait] in the task queue.
func (c *ClientResult) MeanQueueWait() clock.Nanoseconds { return c.mean(c.QueueWait) }

func (c *ClientResult) mean(total clock.Nanoseconds) clock.Nanoseconds {
	if len(c.Latencies) == 0 {
		return 0
	}
	return total / clock.Nanoseconds(len(c.Latencies))
}

// A Percentile is a latency with its 95 % confidence interval.
type Percentile struct{ Value, Low, High clock.Nanoseconds }

// Percentile returns the latency that the fraction q of the calls does not exceed, such as the
// median for q = 0.5, with its 95 % confidence interval. The interval assumes that calls are
// independent, which is less accurate under high load. If no call has finished, the result is the
// zero Percentile.
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
