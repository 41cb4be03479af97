package machine

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"anesim/firmware/engine"
)

// maxCalls is the maximum number of calls in a recorded script.
const maxCalls = 1 << 16

// WriteRecording writes a script to w that repeats a run with options o and result r, and expects
// it to have the given outputs. The argument model is the part of the script's model step after the
// name: "builtin", "file NAME" or "layer OP KEYS". WriteRecording returns an *[engine.OptionError]
// if model contains a line break or a # character, or if r has more than 65,536 dispatches. Other
// errors are those of w.
func WriteRecording(w io.Writer, model string, o *engine.Options, r *engine.Result, outputs []engine.Tensor) error {
	if strings.ContainsAny(model, "#\n\r") {
		return &engine.OptionError{Option: "Record", What: fmt.Sprintf("model %q contains '#' or a line break, which scripts do not allow", model)}
	}
	calls := len(r.Dispatches) + r.Again
	if calls > maxCalls {
		return &engine.OptionError{Option: "Record", What: fmt.Sprintf("too many dispatches for a script: %d; want at most %d", calls, maxCalls)}
	}
	values := "off"
	if o.Values {
		values = "on"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "option chip=%s host=%s seed=%d values=%s\n", o.Chip.Name, o.Host.Name, o.Seed, values)
	fmt.Fprintf(&b, "model program %s\nsend control BOOT\nsend control REQUEST_PROGRAM_ID\n", model)
	b.WriteString("send control LOAD_PROGRAM program=0 model=program\nexpect ok\nsend control CREATE_PROCESS program=0 process=0\n")
	var sizes []string
	for _, name := range slices.Sorted(maps.Keys(o.Bind)) {
		sizes = append(sizes, fmt.Sprintf("%s:%d", name, o.Bind[name]))
	}
	call := "send execution PROCEDURE_CALL program=0 process=0"
	if len(sizes) > 0 {
		call += " bind=" + strings.Join(sizes, ",")
	}
	for range calls {
		b.WriteString(call + "\n")
		if len(r.Report.Faults) > 0 {
			b.WriteString("expect failed\n")
		} else {
			b.WriteString("expect ok\n")
		}
	}
	if n := len(r.Dispatches); n > 0 && len(r.Report.Faults) == 0 {
		cycles := uint64(0)
		for i := range r.Dispatches[n-1].Descriptors {
			cycles += uint64(r.Dispatches[n-1].Descriptors[i].Cycles.Total())
		}
		fmt.Fprintf(&b, "expect cycles 0 %d\n", cycles)
	}
	for _, out := range outputs {
		if strings.ContainsAny(out.Port.Name, " \t#\n\r") {
			continue // words of a script cannot contain these characters
		}
		fmt.Fprintf(&b, "expect crc32 0 %s %s\n", out.Port.Name, engine.Checksum(out.Data))
	}
	b.WriteString("send control TERMINATE_PROCESS program=0 process=0\nsend control UNLOAD_PROGRAM program=0\nsend control RETURN_PROGRAM_ID program=0\nexpect ok\n")
	_, err := io.WriteString(w, b.String())
	return err
}
