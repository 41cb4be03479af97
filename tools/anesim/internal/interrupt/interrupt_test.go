package interrupt

import (
	"context"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// A signal cancels the contexts in use, and the process goes on to end in order. Without one, it
// ends at once, after it has cleaned up.
func TestSignals(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows sends a process no signals")
	}
	type end struct {
		cleaned bool
		status  int
	}
	cleaned, ended := false, make(chan end, 1)
	start(func() { cleaned = true }, func(status int) { ended <- end{cleaned, status} })
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for s, status := range map[os.Signal]int{os.Interrupt: 130, syscall.SIGTERM: 143, syscall.SIGHUP: 129} {
		ctx, stop := Context()
		if err := self.Signal(s); err != nil {
			t.Fatal(err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Minute):
			t.Fatalf("%v: the context is not canceled", s)
		}
		if got := Status(); got != status || ctx.Err() != context.Canceled {
			t.Errorf("%v: status %d, %v; want %d", s, got, ctx.Err(), status)
		}
		stop()
		if err := self.Signal(s); err != nil {
			t.Fatal(err)
		}
		select {
		case got := <-ended:
			if got != (end{true, status}) {
				t.Errorf("%v: %+v", s, got)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%v: the process goes on", s)
		}
	}
}
