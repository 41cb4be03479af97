package command

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// asCommand is an environment variable that makes the test binary run as the command.
const asCommand = "ANESIM_TEST_AS_COMMAND"

// roomVariable is an environment variable with the size of the address space of the process, in bytes.
const roomVariable = "ANESIM_TEST_ROOM"

// statusFile is an environment variable with the name of a file. When the process ends, it copies
// its status from the kernel to that file.
const statusFile = "ANESIM_TEST_STATUS"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		if room, err := strconv.ParseUint(os.Getenv(roomVariable), 10, 64); err == nil {
			limitProcess(room)
		}
		code := Main(os.Args[1:], os.Stdout, os.Stderr)
		if file := os.Getenv(statusFile); file != "" {
			status, err := os.ReadFile("/proc/self/status")
			if err == nil {
				err = os.WriteFile(file, status, 0o666)
			}
			if err != nil {
				panic(err)
			}
		}
		os.Exit(code)
	}
	debug.SetGCPercent(400) // not in the processes of commands, whose memory tests measure
	os.Exit(m.Run())
}

// process returns the anesim command with the given arguments, to be run in a process of its own.
func process(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.Command(os.Args[0], args...)
	c.Env = append(os.Environ(), asCommand+"=1")
	return c
}

// whole runs a command to its end and returns how long that took.
func whole(t *testing.T, args ...string) time.Duration {
	t.Helper()
	at := time.Now()
	if out, err := process(t, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return time.Since(at)
}

// stopped starts a command, calls wait and then sends the process a signal, unless it has ended.
func stopped(t *testing.T, wait func(), signal os.Signal, args ...string) {
	t.Helper()
	c := process(t, args...)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	wait()
	if err := c.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
	c.Wait()
}

// written returns a function that waits until dir has more files than at the time of the call, but
// no longer than most.
func written(t *testing.T, dir string, most time.Duration) (wait func()) {
	entries := func() int {
		list, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	before := entries()
	return func() {
		for end := time.Now().Add(most); entries() <= before && time.Now().Before(end); {
			time.Sleep(50 * time.Microsecond)
		}
	}
}

func contents(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// writers returns functions by name, each of which returns a command that writes a file in a
// directory.
func writers(t *testing.T) map[string]func(dir string) (file string, args []string) {
	program := example(t, "add")
	in := func(name string, args ...string) func(string) (string, []string) {
		return func(dir string) (string, []string) {
			file := filepath.Join(dir, name)
			list := append([]string{}, args...)
			for i := range list {
				list[i] = strings.ReplaceAll(list[i], "FILE", file)
				list[i] = strings.ReplaceAll(list[i], "DIR", dir)
			}
			return file, list
		}
	}
	return map[string]func(string) (string, []string){
		"emit":   in("x.hwx", "layer", "conv", "cin=256", "cout=256", "k=3", "pad=1", "h=8", "w=8", "--emit", "FILE", "--timing-only"),
		"out":    in("y.npy", "layer", "linear", "m=4", "k=64", "n=80", "--out", "DIR"),
		"update": in("base.json", "check", "--baseline", "FILE", "--update", program),
		"html":   in("page.html", "run", program, "--html", "FILE"),
		"trace":  in("run.trace", "run", program, "--trace", "FILE"),
	}
}

// A process that is killed at any time, or interrupted, leaves the file that was there
// before or the one it was to write, and never a part of it.
func TestStoppedProcessLeavesWholeFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows sends a process no signals")
	}
	tries := 6
	switch {
	case os.Getenv("LONG") != "":
		tries = 24
	case testing.Short():
		tries = 4
	}
	for name, writer := range writers(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file, args := writer(dir)
			took := whole(t, args...)
			want := contents(t, file)
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			for _, old := range [][]byte{nil, []byte("old")} {
				for i := range tries {
					if old != nil {
						if err := os.WriteFile(file, old, 0o666); err != nil {
							t.Fatal(err)
						}
					}
					signal := [...]os.Signal{syscall.SIGKILL, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}[i%4]
					wait := written(t, dir, 2*took)
					if i%4 >= 2 || old != nil {
						wait = func() { time.Sleep(took * time.Duration(i+1) / time.Duration(tries)) }
					}
					stopped(t, wait, signal, args...)
					switch got, err := os.ReadFile(file); {
					case err == nil && (bytes.Equal(got, want) || old != nil && bytes.Equal(got, old)):
					case errors.Is(err, os.ErrNotExist) && old == nil:
					default:
						t.Fatalf("%v after %d of %d: %d bytes of %d, %v", signal, i+1, tries, len(got), len(want), err)
					}
					if list := hiddenFiles(t, dir); len(list) > 0 && signal != syscall.SIGKILL {
						t.Errorf("%v after %d of %d leaves %q", signal, i+1, tries, list)
					}
					for _, name := range append(hiddenFiles(t, dir), file) {
						os.Remove(name)
					}
				}
			}
		})
	}
}

// hiddenFiles returns the names of the temporary files in a directory.
func hiddenFiles(t *testing.T, dir string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, ".*"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// On a full disk a command fails and says so; the file that was there stays, and nothing
// else is left.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	for name, writer := range writers(t) {
		t.Run(name, func(t *testing.T) {
			dir := smallDisk(t)
			file, args := writer(dir)
			whole(t, args...)
			old := contents(t, file)
			fill(t, filepath.Join(dir, "ballast"))
			c := process(t, args...)
			out, err := c.CombinedOutput()
			if c.ProcessState.ExitCode() != exitFailed || !strings.Contains(string(out), "no space left") {
				t.Errorf("%v: %s", err, out)
			}
			if got := contents(t, file); !bytes.Equal(got, old) {
				t.Errorf("%d bytes where %d stood", len(got), len(old))
			}
			entries, err := os.ReadDir(dir)
			if err != nil || len(entries) != 2 {
				t.Errorf("%v on the disk, %v", entries, err)
			}
		})
	}
}

// fill writes to the named file until the disk is full.
func fill(t *testing.T, name string) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := 1 << 16; size > 0; size /= 2 {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, size))
		}
		if !strings.Contains(err.Error(), "no space left") {
			t.Fatal(err)
		}
	}
}

// A reader that goes away ends a command.
func TestClosedPipe(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows sends a process no signals")
	}
	t.Parallel()
	for _, args := range [][]string{
		{"run", "--json"},
		{"sweep", "conv", "cin=16..1600+16", "cout=16..1600+16", "h=14", "w=14", "k=1,3", "pad=same"},
		{"run", "--constants"},
		{"--help"},
	} {
		c := process(t, args...)
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(out, make([]byte, 4)); err != nil {
			t.Fatal(err)
		}
		out.Close()
		ended := make(chan error, 1)
		go func() { ended <- c.Wait() }()
		select {
		case <-ended:
		case <-time.After(time.Minute):
			c.Process.Kill()
			t.Errorf("%v goes on without a reader", args)
		}
	}
}
