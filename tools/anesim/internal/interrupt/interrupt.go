package interrupt

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// exitStatus maps the signals to the exit statuses of processes that they end.
var exitStatus = map[os.Signal]int{os.Interrupt: 130, syscall.SIGTERM: 143, syscall.SIGHUP: 129}

var (
	mu       sync.Mutex
	received os.Signal
	contexts = map[*context.CancelFunc]bool{} // of the commands that end in order
)

// Watch makes the process end on a signal, from now on. If no [Context] is in use then, Watch calls
// clean, and ends the process. Signals that are ignored, as SIGHUP is under nohup, stay ignored.
// Calls after the first have no effect.
func Watch(clean func()) { watch.Do(func() { start(clean, os.Exit) }) }

var watch sync.Once

// start is Watch with a function that ends the process.
func start(clean func(), exit func(status int)) {
	signals := make(chan os.Signal, 1)
	for s := range exitStatus {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	go func() {
		for s := range signals {
			if cancelAll(s) == 0 {
				clean()
				exit(exitStatus[s])
			}
		}
	}()
}

// cancelAll records the signal and cancels all contexts in use. It returns their number.
func cancelAll(s os.Signal) int {
	mu.Lock()
	defer mu.Unlock()
	received = s
	for cancel := range contexts {
		(*cancel)()
	}
	return len(contexts)
}

// Context returns a context that a signal cancels, after [Watch]. The caller must call stop when the
// command no longer needs it.
func Context() (ctx context.Context, stop context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	mu.Lock()
	defer mu.Unlock()
	contexts[&cancel] = true
	return ctx, func() {
		mu.Lock()
		defer mu.Unlock()
		delete(contexts, &cancel)
		cancel()
	}
}

// Status returns the exit status of a process that the last signal ends, or that of an interrupt if
// there was none.
func Status() int {
	mu.Lock()
	defer mu.Unlock()
	if s, ok := exitStatus[received]; ok {
		return s
	}
	return exitStatus[os.Interrupt]
}
