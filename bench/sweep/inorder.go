package sweep

import (
	"time"
)

// idlePeriod is the time between calls of idle while computeInOrder waits for a row.
const idlePeriod = 100 * time.Millisecond

// computeInOrder computes items first to n-1 on several goroutines and writes their rows in
// order. While it waits for the next row it calls idle every idlePeriod, on the goroutine
// that writes. It returns the first error of write or idle.  feed --> workers --> done flags
// \--> queue, in order --> write
func computeInOrder(first, n, workers int, compute func(worker, i int) []string, write func([]string) error, idle func() error) error {
	type item struct {
		index int
		row   []string
		done  chan struct{}
	}
	work := make(chan *item)
	queue := make(chan *item, 4*workers)
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		defer close(queue)
		defer close(work)
		for i := first; i < n; i++ {
			x := &item{index: i, done: make(chan struct{})}
			for _, c := range [...]chan *item{queue, work} {
				select {
				case c <- x:
				case <-stop:
					return
				}
			}
		}
	}()
	for worker := range workers {
		go func() {
			for x := range work {
				x.row = compute(worker, x.index)
				close(x.done)
			}
		}()
	}
	tick := time.NewTicker(idlePeriod)
	defer tick.Stop()
	for x := range queue {
		for waiting := true; waiting; {
			select {
			case <-x.done:
				waiting = false
			case <-tick.C:
				if err := idle(); err != nil {
					return err
				}
			}
		}
		if err := write(x.row); err != nil {
			return err
		}
	}
	return nil
}
