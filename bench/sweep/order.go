package sweep

import (
	"time"
)

// idlePeriod is how often rows are flushed that are written and not yet in the file.
const idlePeriod = 100 * time.Millisecond

// inOrder computes items first to n-1 on several goroutines and writes them in order. Idle
// is called every now and then, on the goroutine that writes. An error of either ends it.
//
//	feed --> workers --> done flags
//	   \--> queue, in order --> write
func inOrder(first, n, workers int, compute func(worker, i int) []string, write func([]string) error, idle func() error) error {
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
