package machine

import (
	"fmt"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"anesim"
	"anesim/firmware/engine"
	"anesim/hw/clock"
	"anesim/internal/firmware/traffic"
	"anesim/internal/scripts"
)

// opened is the beginning of a script whose clients a and b hold the program add, in slots 0 and 1.
const opened = `model add layer add c=4
client a rights=user-access
client b rights=user-access,realtime
call a ANE_DeviceOpen
call b ANE_DeviceOpen
send control BOOT
call a ANE_ProgramCreate model=add
call a ANE_ProgramPrepare program=1
call b ANE_ProgramCreate model=add
call b ANE_ProgramPrepare program=2
expect Success
`

// failure plays a script and returns its error, which must be at the given line.
func failure(t *testing.T, text string, line int) string {
	t.Helper()
	out, err := play(text)
	if err == nil {
		t.Fatalf("no error:\n%s", out)
	}
	if !strings.HasPrefix(err.Error(), fmt.Sprintf("line %d: ", line)) {
		t.Errorf("%v; want an error of line %d\n%s", err, line, out)
	}
	return err.Error()
}

// times returns the times in the lines of a transcript that match a pattern with one group.
func times(t *testing.T, out, pattern string) (list []time.Duration) {
	t.Helper()
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(out, -1) {
		d, err := time.ParseDuration(strings.ReplaceAll(m[1], " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, d)
	}
	return list
}

// latencies returns the latencies of a client that calls add with some threads, as package traffic has
// them.
func latencies(t *testing.T, threads int) []clock.Nanoseconds {
	t.Helper()
	s := &traffic.Script{Host: "macos-air", Duration: 10 * time.Millisecond, Clients: []traffic.ScriptClient{{Name: "a", Layer: "add c=4", Threads: threads}}}
	l, err := scripts.RunClients(t.Context(), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	return l.Result.Clients[0].Latencies
}

// TestCallsTakeTheTimeOfTheHost checks that calls of one client, back to back, start as far apart as a
// load of one thread says, and that those of two clients do as for two threads.
func TestCallsTakeTheTimeOfTheHost(t *testing.T) {
	out := script(t, "option host=macos-air\n"+opened+strings.Repeat("call a ANE_ProgramSendRequest program=1\n", 6))
	starts := times(t, out, `@ (\S+ \S+): request \d+ start`)
	one := latencies(t, 1)
	for i := 2; i < len(starts); i++ { // the first two have another idle time before
		if gap, want := float64(starts[i]-starts[i-1]), float64(one[len(one)/2]); math.Abs(gap-want) > 1.5 {
			t.Errorf("request %d starts %v ns after the one before; want %v", i+1, gap, want)
		}
	}
	if len(starts) != 6 {
		t.Errorf("%d requests", len(starts))
	}
	text := "option host=macos-air\n" + opened + "call a ANE_ProgramSendRequest program=1 async=pa sequence=1\ncall b ANE_ProgramSendRequest program=2 async=pb sequence=1\n"
	for i := 1; i < 8; i++ {
		text += fmt.Sprintf("expect completion pa %d Success\ncall a ANE_ProgramSendRequest program=1 async=pa sequence=%d\n", i, i+1)
		text += fmt.Sprintf("expect completion pb %d Success\ncall b ANE_ProgramSendRequest program=2 async=pb sequence=%d\n", i, i+1)
	}
	out = script(t, text+"expect completion pa 8 Success\nexpect completion pb 8 Success\n")
	ends := times(t, out, `@ (\S+ \S+): completion of sequence \d+ at port pa`)
	two := latencies(t, 2)
	if len(ends) != 8 {
		t.Fatalf("%d completions:\n%s", len(ends), out)
	}
	for i := 3; i < len(ends); i++ {
		if gap, want := float64(ends[i]-ends[i-1]), float64(two[len(two)/2]); math.Abs(gap-want) > 1e3 { // printed in us
			t.Errorf("completion %d arrives %v ns after the one before; want %v", i+1, gap, want)
		}
	}
	// Two commands in flight share only the engine.
	out = script(t, strings.Replace(text, "host=macos-air", "host=macos-air in_flight=2", 1))
	ends = times(t, out, `@ (\S+ \S+): completion of sequence \d+ at port pa`)
	if gap := ends[5] - ends[4]; gap > 178*time.Microsecond {
		t.Errorf("with two commands in flight, completions are %v apart", gap)
	}
}

// The documents' stages stand unscaled on macos-guide-live, and messages of the host itself cost
// nothing.
func TestLiveStagesOnTheClock(t *testing.T) {
	out := script(t, "option host=macos-guide-live\n"+opened+"send control PING\nsend execution PROCEDURE_CALL program=0 process=0\ncall a ANE_ProgramSendRequest program=1\n")
	at := times(t, out, `@ (\S+ \S+): (?:request|the call)`)
	if len(at) != 5 || at[0] != 0 || at[1] > 148 {
		t.Fatalf("times %v:\n%s", at, out)
	}
	engine := at[3] - at[2]
	if all := at[4] - at[1] - engine; all < 183_500-250 || all > 183_500+250 { // printed in ns to three digits
		t.Errorf("the host takes %v of a call; want 183.5 us\n%s", all, out)
	}
	for _, want := range []string{"binding and copies 25.0 us, request 16.0 us, kick 2.5 us, firmware 130.0 us, completion 10.0 us", "selector 2: 158.5 us from request to completion; the documents measured 163 us"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// TestTimeouts checks that a call that waits for an event that nobody signals returns Timeout after
// exactly its time, that it signals nothing, and that its completion is dropped if it comes late.
func TestTimeouts(t *testing.T) {
	for _, host := range []string{"none", "macos-air"} {
		out := script(t, "option host="+host+"\n"+opened+`call a ANE_ProgramSendRequest program=1 wait=1:1 signal=2:1 timeout=2ms
expect Timeout
expect 0xe0000404
expect finished 0
call b ANE_ProgramSendRequest program=2
expect Success
signal 1 1
expect finished 1
expect event 2 0
call a ANE_ProgramSendRequest program=1 wait=1:1 signal=2:1 timeout=2ms
expect Success
expect event 2 1
`)
		if !strings.Contains(out, "1 timed out, 0 outstanding; 0 late completions dropped") || !strings.Contains(out, "ledger: 10 received = 10 answered + 0 refused + 0 dropped") {
			t.Error(out)
		}
		if host == "macos-air" && !strings.Contains(out, "@ 2.000 ms: the call returns, after 2.000 ms\n") {
			t.Error(out)
		}
	}
	// The script events.fw, with a time limit instead of a signal.
	out := script(t, `model net layer add c=4
send control BOOT
send control LOAD_PROGRAM program=0 model=net
send control CREATE_PROCESS program=0 process=0
send execution PROCEDURE_CALL_WITH_SIGNAL_EVENTS program=0 process=0 wait=1:1 signal=2:1 timeout=2ms
expect Timeout
send execution PROCEDURE_CALL_WITH_SIGNAL_EVENTS program=0 process=0 wait=2:1 shared=3:7
expect ok
expect finished 0
expect event 2 0
expect event 3 0
`)
	if !strings.Contains(out, "busy 0.0 ns of 2.000 ms") || !strings.Contains(out, "events: 1 request waiting, 1 dropped while waiting") {
		t.Error(out)
	}
	// A request whose time is up in the middle of its run completes late, and its event is not
	// signalled. The next call waits for the engine.
	out = script(t, opened+`model big layer conv cin=64 h=56 w=56 cout=64 k=3 pad=same
call a ANE_ProgramCreate model=big
call a ANE_ProgramPrepare program=3
call a ANE_ProgramSendRequest program=3 signal=5:1 timeout=10us
expect Timeout
call b ANE_ProgramSendRequest program=2
expect Success
expect event 5 0
expect finished 1
`)
	if !strings.Contains(out, "1 timed out, 0 outstanding; 1 late completion dropped") || !strings.Contains(out, "1 aborted") {
		t.Error(out)
	}
	// On a host with stages, a request that the engine has finished has signalled its events.
	out = script(t, "option host=macos-air\n"+opened+`call a ANE_ProgramSendRequest program=1 signal=5:1 timeout=110us
expect Timeout
expect event 5 1
wait 1ms
`)
	if !strings.Contains(out, "1 timed out, 0 outstanding; 1 late completion dropped") {
		t.Error(out)
	}
}

// A second overlapped stream of one process never completes: its time limit ends it, and without one
// a call that waits would wait for ever.
func TestOverlappedStreams(t *testing.T) {
	start := "option host=macos-air\n" + opened + "call a ANE_ProgramSendRequest program=1 async=p sequence=1\n"
	script(t, start+`call a ANE_ProgramSendRequest program=1 async=p sequence=2 timeout=1ms
expect completion p 1 Success
expect finished 1
expect completion p 2 Timeout
expect finished 1
call a ANE_ProgramSendRequest program=1
expect Success
`)
	n := strings.Count(start, "\n")
	if err := failure(t, start+"call a ANE_ProgramSendRequest program=1\n", n+1); !strings.Contains(err, "the call never returns, unless it has a timeout: a call of program slot 0 overlaps with another one of its process") {
		t.Error(err)
	}
	if err := failure(t, start+"call a ANE_ProgramSendRequest program=1 async=p sequence=2\nexpect completion p 2 Success\n", n+2); !strings.Contains(err, "sequence 2 never completes: a call of program slot 0 overlaps") {
		t.Error(err)
	}
}

// Mistakes with ports are errors of their line.
func TestPorts(t *testing.T) {
	start := opened + "call a ANE_ProgramSendRequest program=1 async=p sequence=1 wait=9:1\n"
	n := strings.Count(start, "\n") + 1
	for step, want := range map[string]string{
		"call b ANE_ProgramSendRequest program=2 async=p sequence=7": `port "p" belongs to client "a"`,
		"call a ANE_ProgramSendRequest program=1 async=p sequence=1": `sequence 1 is outstanding at port "p" already`,
		"call a ANE_ProgramSendRequest program=1 async=q async=r":    `duplicate key "async"`,
		"call a ANE_ProgramSendRequest program=1 async":              `missing port`,
		"call a ANE_ProgramSendRequest program=1 timeout=0s":         `invalid timeout "0s"`,
		"call a ANE_GetVersion timeout=1ms":                          `ANE_GetVersion does not take the key "timeout"; it takes size`,
		"expect completion p 2 Success":                              `no call with sequence 2 was sent with port "p"`,
		"expect completion q 1 Success":                              `unknown port "q"; did you mean p?`,
		"expect completion p 1 Success":                              `sequence 1 never completes: a call of program slot 0 waits for event 9 to reach 1`,
		"expect completion p one Success":                            `invalid sequence "one"`,
		"expect completion p 1":                                      `wrong number of operands (2)`,
		"send control PING timeout=1ms":                              `PING does not take the key "timeout"; it takes priority, program, process, procedure, bytes`,
	} {
		if err := failure(t, start+step+"\n", n); !strings.Contains(err, want) {
			t.Errorf("%s: %s; want %q", step, err, want)
		}
	}
	script(t, start+"signal 9 1\nexpect completion p 1 Success\ncall a ANE_ProgramSendRequest program=9 async=p sequence=2\nexpect NotFound\n")
}

// TestFullRing checks that as many calls as the ring has room for can be outstanding, and that the next
// one is refused.
func TestFullRing(t *testing.T) {
	text := "option depth=2 host=macos-air\n" + opened + `client c rights=user-access
call c ANE_DeviceOpen
call c ANE_ProgramCreate model=add
call c ANE_ProgramPrepare program=3
call a ANE_ProgramSendRequest program=1 async=a sequence=1
call b ANE_ProgramSendRequest program=2 async=b sequence=1
call c ANE_ProgramSendRequest program=3 async=c sequence=1
expect NoResources
call c ANE_ProgramSendRequest program=3
expect NoResources
expect completion a 1 Success
call c ANE_ProgramSendRequest program=3
expect Success
expect completion b 1 Success
`
	script(t, text)
	// Messages that were posted without a doorbell fill the ring too.
	script(t, "option depth=2\n"+opened+`post execution PROCEDURE_CALL program=0 process=0
post execution PROCEDURE_CALL program=0 process=0
call a ANE_ProgramSendRequest program=1
expect NoResources
doorbell 1
call a ANE_ProgramSendRequest program=1
expect Success
expect finished 3
`)
}

// TestClosingEndsCalls checks that a client that closes ends its calls, also one that overlaps with
// another and would never complete, so that they no longer take room in the ring.
func TestClosingEndsCalls(t *testing.T) {
	start := "option depth=2 host=macos-air\n" + opened + `call a ANE_ProgramSendRequest program=1 async=p sequence=1
call a ANE_ProgramSendRequest program=1 async=p sequence=2
call b ANE_ProgramSendRequest program=2
expect NoResources
`
	for _, end := range []string{"call a ANE_DeviceClose\n", "close a\n"} {
		out := script(t, start+end+`expect completion p 1 Aborted
expect completion p 2 Aborted
call b ANE_ProgramSendRequest program=2
expect Success
expect finished 1
`)
		if !strings.Contains(out, "calls of clients: 1 completed, 0 timed out, 2 ended by their client, 0 outstanding; 0 late completions dropped") {
			t.Error(out)
		}
	}
	// Closed in the middle of a run on the engine, which then completes late; calls of others go on.
	out := script(t, "option host=macos-air in_flight=2\n"+opened+`call a ANE_ProgramSendRequest program=1 async=p sequence=1 signal=5:1
call b ANE_ProgramSendRequest program=2 async=q sequence=1
wait 103.4us
close a
expect completion p 1 Aborted
expect completion q 1 Success
expect event 5 0
`)
	if !strings.Contains(out, "calls of clients: 1 completed, 0 timed out, 1 ended by their client, 0 outstanding; 1 late completion dropped") {
		t.Error(out)
	}
}

// convolution is the beginning of a script in which a convolution of one run is loaded next to an add.
func convolution(options, model string) string {
	return "option " + options + "\nmodel conv " + model + `
model add layer add c=4
send control BOOT
send control LOAD_PROGRAM program=0 model=conv
send control CREATE_PROCESS program=0 process=0
send control LOAD_PROGRAM program=1 model=add
send control CREATE_PROCESS program=1 process=0
hold
send execution PROCEDURE_CALL program=0 process=0 priority=7
until 100us
send execution PROCEDURE_CALL program=1 process=0 priority=0
drain
expect finished 2
`
}

// TestAbortInMidFlight checks that with preemption=abort a request that arrives at 100 us starts then,
// and the convolution that it stops runs again from the start, with the same values.
func TestAbortInMidFlight(t *testing.T) {
	const layer = "layer conv cin=128 h=64 w=64 cout=128 k=7 pad=3"
	checksum := regexp.MustCompile(`program 0: .* y crc32 \w+`)
	plain := script(t, convolution("preemption=run values=off", layer))
	alone := times(t, plain, `@ (\S+ \S+): request 1 finish`)[0]
	if starts := times(t, plain, `@ (\S+ \S+): request 2 start`)[0]; starts != alone || alone < 400*time.Microsecond {
		t.Errorf("the add starts at %v, the convolution ends at %v", starts, alone)
	}
	out := script(t, convolution("preemption=abort values=off", layer))
	if starts := times(t, out, `@ (\S+ \S+): request 2 start`)[0]; starts != 100*time.Microsecond {
		t.Errorf("the add starts at %v:\n%s", starts, out)
	}
	add := times(t, out, `@ (\S+ \S+): request 2 finish`)[0] - 100*time.Microsecond
	if ends := times(t, out, `@ (\S+ \S+): request 1 finish`)[0]; ends < alone+100*time.Microsecond || ends > alone+100*time.Microsecond+add+2*time.Nanosecond {
		t.Errorf("the convolution ends at %v; alone it takes %v", ends, alone)
	}
	for _, want := range []string{"preemption: 1 run of descriptors stopped, 100.000 us of engine time and ", "request 1 run stopped", "request 1 context switch in"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	small := "layer conv cin=64 h=64 w=64 cout=64 k=3 pad=same"
	a := checksum.FindString(script(t, convolution("preemption=abort", small)))
	if b := checksum.FindString(script(t, convolution("preemption=run", small))); a != b || a == "" {
		t.Errorf("%q with an abort, %q without", a, b)
	}
	if _, err := play("option preemption=abrot\n"); err == nil || !strings.Contains(err.Error(), `unknown preemption "abrot"; want none, run, abort; did you mean abort?`) {
		t.Error(err)
	}
}

// A host whose time depends on the results takes it after the engine's work: as long as a run says, and
// without holding up other calls.
func TestHostTimeOfResults(t *testing.T) {
	m, err := anesim.Layer("relu", "c=64", "h=16", "w=16")
	if err != nil {
		t.Fatal(err)
	}
	h, err := engine.HostByName("macos-mbp")
	if err != nil {
		t.Fatal(err)
	}
	res, err := m.Run(t.Context(), anesim.Options{Values: true, Seed: 1, Host: h})
	if err != nil {
		t.Fatal(err)
	}
	s, err := ReadScript([]byte("option host=macos-mbp\nmodel r layer relu c=64 h=16 w=16\nclient a rights=user-access\ncall a ANE_DeviceOpen\nsend control BOOT\ncall a ANE_ProgramCreate model=r\ncall a ANE_ProgramPrepare program=1\ncall a ANE_ProgramSendRequest program=1\nexpect Success\n"))
	if err != nil {
		t.Fatal(err)
	}
	x, err := s.Play(t.Context(), io.Discard, scripts.Models{Open: noFile})
	if err != nil {
		t.Fatal(err)
	}
	got, err := x.Result(0)
	if err != nil {
		t.Fatal(err)
	}
	host := res.Programs[0].Host
	plain := x.Program(0).HostTime()
	if got.Host != host || host < plain+10_000 {
		t.Fatalf("the host takes %v, directly %v; without results %v", got.Host, host, plain)
	}
	if want := host + got.Report.Time + got.Dispatches[0].Wake; math.Abs(float64(x.Now()-want)) > 1 {
		t.Errorf("the call returns at %v; want %v", x.Now(), want)
	}
}

// An urgent request of the program whose run is in progress cannot stop it, because it needs the same
// buffers; both have the values of their own inputs.
func TestAbortOfOneProgram(t *testing.T) {
	out := script(t, `option preemption=abort
model m layer conv cin=16 h=16 w=16 cout=16 k=3 pad=same
send control BOOT
send control LOAD_PROGRAM program=0 model=m
send control CREATE_PROCESS program=0 process=0
hold
send execution PROCEDURE_CALL program=0 process=0 priority=7
until 300ns
send execution PROCEDURE_CALL program=0 process=0 priority=0
drain
expect finished 2
`)
	if first, second := times(t, out, `@ (\S+ \S+): request 1 finish`)[0], times(t, out, `@ (\S+ \S+): request 2 start`)[0]; second != first || strings.Contains(out, "run stopped") {
		t.Error(out)
	}
}
