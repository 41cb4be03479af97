package traffic

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"anesim/firmware"
	"anesim/firmware/engine"
)

// MaxRecordedCalls is the largest number of calls in a recorded script.
const MaxRecordedCalls = 30_000

// WriteMachineScript writes the simulated calls to w as a script for package machine. The script
// sends each call at the time when it reached its task queue in the simulation. The simulation used
// the times of one run of each program, but the script executes the descriptors of every call. The
// function model returns the text for a client's model in the script: "file NAME" or "layer OP
// KEYS".
//
// WriteMachineScript returns an *[engine.OptionError] if events may be missing from the outcome
// (Script.Events must be [MaxEvents]), if there are more than [MaxRecordedCalls] calls, or if the
// script format cannot express a model or the power policy. Other errors are those of w.
func (l *Outcome) WriteMachineScript(w io.Writer, model func(*ScriptClient) string) error {
	fail := func(format string, args ...any) error {
		return &engine.OptionError{Option: "Record", What: fmt.Sprintf(format, args...)}
	}
	switch {
	case l.Config.Observe != nil:
		return fail("Config.Observe is set; want nil")
	case l.Script.Events < MaxEvents:
		return fail("Script.Events is %d; want %d to record all events", l.Script.Events, MaxEvents)
	case len(l.Events) >= MaxEvents:
		return fail("event list is full (%d events); later events may be missing", len(l.Events))
	}
	if l.Script.Power != (firmware.PowerPolicy{}) {
		return fail("script sets a power policy, which firmware scripts do not support")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "option chip=%s host=%s seed=1 values=off preemption=%v\n", l.Options.Chip.Name, l.Options.Host.Name, l.Script.Preemption)
	for i := range l.Script.Clients {
		c := &l.Script.Clients[i]
		text := model(c)
		if strings.ContainsAny(text, "#\n\r") {
			return fail("model %q contains '#' or a line break, which scripts do not allow", text)
		}
		fmt.Fprintf(&b, "# client %q\nmodel client%d %s\n", c.Name, i, text)
	}
	b.WriteString("send control BOOT\n")
	for i := range l.Script.Clients {
		fmt.Fprintf(&b, "send control LOAD_PROGRAM program=%d model=client%[1]d\nexpect ok\nsend control CREATE_PROCESS program=%[1]d process=0\n", i)
	}
	b.WriteString("hold\n")
	binds := make([][]string, len(l.Script.Clients)) // of calls in turn
	for i := range binds {
		for _, turn := range l.Script.Clients[i].turns() {
			var words []string
			for _, name := range slices.Sorted(maps.Keys(turn)) {
				words = append(words, fmt.Sprintf("%s:%d", name, turn[name]))
			}
			text := ""
			if len(words) > 0 {
				text = " bind=" + strings.Join(words, ",")
			}
			binds[i] = append(binds[i], text)
		}
	}
	calls := 0
	for i := range l.Events {
		e := &l.Events[i]
		// The host's stages have passed when a call is queued, and the script's own messages take no time.
		if e.What != Queued {
			continue
		}
		if calls++; calls > MaxRecordedCalls {
			return fail("too many calls for a recorded script; want at most %d", MaxRecordedCalls)
		}
		fmt.Fprintf(&b, "until %.3fns\nsend execution PROCEDURE_CALL program=%d process=0 priority=%d%s\n", float64(e.At), e.Client, l.Script.Clients[e.Client].Priority, binds[e.Client][e.Turn])
	}
	fmt.Fprintf(&b, "drain\nexpect finished %d\n", calls)
	for i := range l.Script.Clients {
		fmt.Fprintf(&b, "send control TERMINATE_PROCESS program=%d process=0\nsend control UNLOAD_PROGRAM program=%[1]d\nexpect ok\n", i)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
